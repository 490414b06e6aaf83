package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"
)

// settings are the flags of a server, which runs until ctx ends.
type settings interface {
	flags(app *kingpin.Application)
	serve(ctx context.Context, st state, logger log.Logger) error
}

// runServer is fakehost called with a server's name. It returns the exit status.
func runServer(name, help string, s settings, st state, args []string, stderr io.Writer) int {
	app := kingpin.New(name, help)
	app.UsageWriter(os.Stdout)
	s.flags(app)
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

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return l, nil
}

// serveHTTP serves at l until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler) error {
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	// Streams for ever are among the faults: do not wait for them.
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
