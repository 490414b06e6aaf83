// Package configfile tells what is wrong with a file of YAML: where, in which field, and
// what would be right. It repeats no value of the file, which may be a secret. It reads
// files with Prometheus' HTTP client configuration.
package configfile
