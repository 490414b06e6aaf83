// Command fakehost stands in for the hardware and the model server of a host with
// accelerators. It is one binary with three names: fakehost vllm serves an
// OpenAI-compatible endpoint whose load drives what fakehost mx-smi and
// fakehost npu-smi print. Called by a link named mx-smi, ht-smi or npu-smi it is
// that tool.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
)

const usage = `fakehost stands in for a host with accelerators.

usage: fakehost vllm [flags]     serve the stand-in of vLLM (see fakehost vllm --help)
       fakehost mx-smi [args]    print as mx-smi does; ht-smi likewise
       fakehost npu-smi [args]   print as npu-smi does

The three share a folder, $FAKEHOST_STATE. What stands in its files mx-smi.layout,
mx-smi.fault, npu-smi.layout, npu-smi.fault and vllm.fault holds from the next call on.
`

func main() {
	os.Exit(run(os.Args, os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	name, rest := filepath.Base(args[0]), args[1:]
	if tool(name) == nil && name != "vllm" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	st := state{dir: stateDir()}
	if t := tool(name); t != nil {
		return t.call(st, rest, stdout)
	}
	switch name {
	case "vllm":
		return serveVLLM(st, rest, stderr)
	case childName:
		hang()
	}
	fmt.Fprint(stderr, usage)
	return 2
}

func serveVLLM(st state, args []string, stderr io.Writer) int {
	s := &vllmSettings{}
	app := kingpin.New("fakehost vllm", "Serve an OpenAI-compatible endpoint with vLLM's continuous batching and no model.")
	app.UsageWriter(os.Stdout)
	s.flags(app)
	if _, err := app.Parse(args); err != nil {
		fmt.Fprintf(stderr, "fakehost vllm: %v, try --help\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.serve(ctx, st, log.NewLogfmtLogger(log.NewSyncWriter(stderr))); err != nil {
		fmt.Fprintf(stderr, "fakehost vllm: %v\n", err)
		return 1
	}
	return 0
}

// stateDir is the folder the three share: one for each user, unless told otherwise.
func stateDir() string {
	if dir := os.Getenv("FAKEHOST_STATE"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "fakehost-"+strconv.Itoa(os.Getuid()))
}
