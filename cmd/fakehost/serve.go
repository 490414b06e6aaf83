package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
)

// run is fakehost called with a server's name. It returns the exit status.
func (s *server) run(name, help string, flags func(*kingpin.Application), st state, args []string, stderr io.Writer) int {
	app := kingpin.New(name, help)
	app.UsageWriter(os.Stdout)
	flags(app)
	if _, err := app.Parse(args); err != nil {
		fmt.Fprintf(stderr, "%s: %v, try --help\n", name, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.serve(ctx, st, log.NewLogfmtLogger(log.NewSyncWriter(stderr))); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
