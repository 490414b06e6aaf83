// Command fakehost stands in for the hardware and the model server of a host with
// accelerators. It is one binary with several names: fakehost vllm serves an
// OpenAI-compatible endpoint whose load drives what fakehost mx-smi, fakehost npu-smi
// and fakehost hccn_tool print. Called by a link with the name of a tool it is that
// tool. fakehost pace is the same server on a fixed schedule, which it tells, for
// checking a load generator.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const usage = `fakehost stands in for a host with accelerators.

usage: fakehost vllm [flags]     serve the stand-in of vLLM (see fakehost vllm --help)
       fakehost pace [flags]     serve streams on a known schedule (see fakehost pace --help)
       fakehost mx-smi [args]    print as mx-smi does; ht-smi likewise
       fakehost npu-smi [args]   print as npu-smi does
       fakehost hccn_tool [args] print as hccn_tool does, of the cards of npu-smi

fakehost vllm and the tools share a folder, $FAKEHOST_STATE, by default fakehost-UID in
the temporary folder, which only you may enter. What stands in its files holds from the
next call on:

  mx-smi.layout  npu-smi.layout   the version to print as
  mx-smi.fault   npu-smi.fault    what the tool does wrong, one a line: hang, card_lost, ...,
  hccn_tool.fault                 "slow 2s" or "delay 500ms", which may stand beside another.
                                  "ecc hang" is of one command, "card 3 slow 2s" of the calls
                                  about one card
  mx-smi.card    npu-smi.card     what is wrong with cards, one a line: the card's number
                                  (left out: all cards), and unhealthy, hot, power_cap,
                                  memory_full, idle_held, uneven, ecc, link_lanes, pcie_slow,
                                  port_down, optics_fade or ras. "2 unhealthy Critical",
                                  "0 hot 98" and "3 ras 80E18401" say what state, how many
                                  degrees and which code
  mx-smi.processes                who holds the cards in place of the server, one a line: card,
  npu-smi.processes               PID, name and MiB, such as "0 15652 python 60032"
  vllm.fault                      what the server does wrong (see fakehost vllm --help)
`

func main() {
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	name, rest := filepath.Base(args[0]), args[1:]
	if tool(name) == nil && name != "vllm" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	t := tool(name)
	switch {
	case name == childName:
		hang()
	case t == nil && name != "vllm" && name != "pace":
		fmt.Fprint(stderr, usage)
		return 2
	}
	st, err := openState()
	if err != nil {
		fmt.Fprintf(stderr, "fakehost: %v\n", err)
		return 1
	}
	var s server
	switch {
	case t != nil:
		return t.call(st, rest, stdout, stderr)
	case name == "vllm":
		return s.run("fakehost vllm", "Serve an OpenAI-compatible endpoint with vLLM's continuous batching and no model.",
			s.vllmFlags, st, rest, stderr)
	}
	return s.run("fakehost pace", "Serve an OpenAI-compatible endpoint that streams on a fixed schedule. GET /truth tells when each chunk was written, to check a load generator.",
		s.paceFlags, st, rest, stderr)
}
