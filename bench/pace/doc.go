// Package pace is a server to check a load generator against: it writes one
// chunk of text a gap to every stream, on a schedule fixed when the request
// comes, and keeps the instant of each write. Whoever measured the streams can
// ask it for the truth afterwards.
package pace
