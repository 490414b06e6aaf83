// Command accelerator_exporter serves the state of a host's accelerators, its
// NUMA nodes, and what a streaming request to its model server costs, as
// Prometheus metrics.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/internal/commandline"
)

const (
	maxLogQueue  = 1 << 20 // bytes; some thousand lines
	flushTimeout = time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	// A reader of the log that goes away must not end the program. Asked for, not
	// ignored: a signal that is ignored stays so in the tools.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(ctx, hangup, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program. It returns the exit status: 0 after a clean end, 1
// when it could not run or a single probe failed, 2 for a wrong command line.
func run(ctx context.Context, hangup <-chan os.Signal, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stdout)
	if err != nil {
		return commandline.Fail(stderr, "accelerator_exporter", err)
	}
	c, err := s.configuration(ctx)
	switch {
	case s.configCheck:
		return checkConfiguration(s, c, err, stdout, stderr)
	case s.probeOnce && err != nil:
		return printErrors(stderr, flatten(err))
	case s.probeOnce:
		return probeOnce(ctx, c.targets, stdout)
	}
	direct := withTimestamp(newLogger(stderr, s.logLevel, s.logFormat))
	lines := newLogQueue(stderr, maxLogQueue, func(n int) {
		level.Warn(direct).Log("msg", "lines of the log were dropped, since its reader did not take those before", "lines", n)
	})
	defer lines.close(flushTimeout)
	logger := newLogger(lines, s.logLevel, s.logFormat)
	if err := errors.Join(s.checkWebConfigKind(), err); err != nil {
		for _, one := range flatten(err) {
			level.Error(withTimestamp(logger)).Log("msg", "invalid configuration", "err", one)
		}
		return 1
	}
	d, err := newDaemon(s, c, logger, lines.dropped)
	if err != nil {
		level.Error(withTimestamp(logger)).Log("msg", "cannot start", "err", err)
		return 1
	}
	if err := d.run(ctx, hangup); err != nil {
		level.Error(withTimestamp(logger)).Log("msg", "cannot serve", "err", err)
		return 1
	}
	return 0
}

// checkConfiguration prints all that is wrong with the configuration, and with the files that
// are read later, and returns the exit status.
func checkConfiguration(s *settings, c configuration, err error, stdout, stderr io.Writer) int {
	if s.probe.URL == "" && s.configFile == "" && *s.web.WebConfigFile == "" {
		return printErrors(stderr, []error{errors.New("nothing to check: no --config.file given")})
	}
	if wrong := slices.Concat(flatten(err), c.unreadable, flatten(s.checkWeb())); len(wrong) > 0 {
		return printErrors(stderr, wrong)
	}
	fmt.Fprintf(stdout, "accelerator_exporter: the configuration is valid, probes: %d\n", len(c.targets))
	return 0
}

// printErrors prints what is wrong for somebody at a terminal, and returns the exit status.
func printErrors(stderr io.Writer, wrong []error) int {
	for _, one := range wrong {
		fmt.Fprintf(stderr, "accelerator_exporter: %v\n", one)
	}
	return 1
}

// newLogger takes a level and a format that the flags have checked.
func newLogger(w io.Writer, lvl, format string) log.Logger {
	sync := log.NewSyncWriter(w)
	logger := log.NewLogfmtLogger(sync)
	if format == "json" {
		logger = log.NewJSONLogger(sync)
	}
	return level.NewFilter(logger, level.Allow(level.ParseDefault(lvl, level.InfoValue())))
}

// withTimestamp adds what every line of our own has; libraries that log through an
// adapter add their own.
func withTimestamp(logger log.Logger) log.Logger {
	return log.With(logger, "ts", log.DefaultTimestampUTC, "caller", log.DefaultCaller)
}
