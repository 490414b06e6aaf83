// Package openai sends one streaming request to an OpenAI-compatible endpoint
// and keeps what the wire showed as a [Trace]. Every latency figure is derived
// from a Trace by a pure function, so whoever reports one uses the same
// definition: [TTFT], [ITLs], [TokenITLs], [TPOT], [E2E]. Beside that it asks
// what a load needs to know before: [Client.Models], [Client.Tokenize],
// [Client.Detokenize].
//
// The package has three layers. The decoder takes bytes and finds server-sent
// events; the stream takes events with their instants and fills a Trace; the
// client moves bytes, notes when they arrived and gives every failure one of
// the fixed reasons. The first two know no clock and no network.
package openai
