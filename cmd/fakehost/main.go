// Command fakehost stands in for the hardware and the model server of a host with
// accelerators. It is one binary with several names: fakehost vllm serves an
// OpenAI-compatible endpoint whose load drives what fakehost mx-smi and the vendors' other
// tools print. Called by a link with the name of a tool it is that tool.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

const usage = `fakehost stands in for a host with accelerators.

usage: fakehost vllm [flags]      serve the stand-in of vLLM (see fakehost vllm --help)
       fakehost TOOL [args]       print as one of the vendors' tools does: mx-smi, npu-smi,
                                  hccn_tool, of the cards of npu-smi, nvidia-smi, hy-smi,
                                  ixsmi, xpu_smi, mthreads-gmi or efsmi

fakehost vllm and the tools share a folder, $FAKEHOST_STATE, which only you may enter; without
it the tools print an idle machine. What stands in its files holds from the next call on:

  mx-smi.card    npu-smi.card     what is wrong with cards, one a line: the card's number
                                  (left out: all cards), and unhealthy, hot, memory_full, ecc,
                                  port_down or optics. "2 unhealthy Critical" and "0 hot 98"
                                  say what state and how many degrees. The other tools have
                                  such files too
  mx-smi.fault   npu-smi.fault    what the tool does wrong, one a line: hang, exit, card_lost or
  hccn_tool.fault                 "slow 2s". "ecc hang" is of one command, "card 3 slow 2s" of the
                                  calls about one card
  mx-smi.processes                who holds the cards in place of the server, one a line: card,
  npu-smi.processes               PID, name and MiB, such as "0 15652 python 60032"
  vllm.fault                      what the server does wrong: hang, slow, reset, stall, slow_stream,
                                  http_404, http_429, http_500, html_200, stream_error, truncated,
                                  empty, degenerate, freeze or no_metrics. /fault/NAME/v1/... is that of one request
`

func main() {
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	name, rest := filepath.Base(args[0]), args[1:]
	tool, isTool := smi.Find(name)
	if !isTool && name != "vllm" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
		tool, isTool = smi.Find(name)
	}
	st := state(cmp.Or(os.Getenv("FAKEHOST_STATE"), os.DevNull)) // below which there is nothing
	switch {
	case isTool:
		return runTool(tool, st, rest, stdout)
	case name == "vllm":
		return new(server).run(st, rest, stderr)
	}
	fmt.Fprint(stderr, usage)
	return 2
}

// runTool answers one call as the tool would, or misbehaves as the state folder says, and returns the exit status.
func runTool(t *smi.Tool, st state, args []string, stdout io.Writer) int {
	for round := 0; ; round++ {
		a := t.Answer(st.read(t), time.Now(), round, args...)
		time.Sleep(a.Wait)
		for a.Hangs { // a select without cases would be called a deadlock
			time.Sleep(time.Hour)
		}
		if _, err := stdout.Write(a.Text); err != nil {
			return 1
		}
		if !a.GoesOn {
			return a.Status
		}
		time.Sleep(time.Second)
	}
}
