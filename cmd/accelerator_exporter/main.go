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
	"strings"
	"syscall"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	os.Exit(run(ctx, hangup, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program. It returns the exit status: 0 after a clean end, 1
// when it could not run, 2 for a wrong command line; of a check, what that found.
func run(ctx context.Context, hangup <-chan os.Signal, args []string, stdout, stderr io.Writer) int {
	s, err := parseFlags(args, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "accelerator_exporter: %v, try --help\n", err)
		return 2
	}
	c, err := s.configuration()
	switch {
	case s.configCheck:
		return checkConfiguration(s, c, err, stdout, stderr)
	case s.checkWhat != "" && err != nil:
		printErrors(stderr, err)
		return 2
	case s.checkWhat != "":
		return runCheck(ctx, s, c.targets, stdout)
	}
	base := newLogger(stderr, s.logLevel, s.logFormat)
	logger := withTimestamp(base)
	if err := errors.Join(s.checkWeb(), err); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			level.Error(logger).Log("msg", "invalid configuration", "err", line)
		}
		return 1
	}
	d, err := newDaemon(s, c, base)
	if err != nil {
		level.Error(logger).Log("msg", "cannot start", "err", err)
		return 1
	}
	if err := d.run(ctx, hangup); err != nil {
		level.Error(logger).Log("msg", "cannot serve", "err", err)
		return 1
	}
	return 0
}

// checkConfiguration prints all that is wrong with the configuration, and with the files that
// are read later, and returns the exit status.
func checkConfiguration(s *settings, c configuration, err error, stdout, stderr io.Writer) int {
	if s.probe.URL == "" && s.configFile == "" && *s.web.WebConfigFile == "" {
		return printErrors(stderr, errors.New("nothing to check: no --config.file, --web.config.file or --probe.target given"))
	}
	if err := errors.Join(append(c.unreadable, err, s.checkWeb())...); err != nil {
		return printErrors(stderr, err)
	}
	fmt.Fprintf(stdout, "accelerator_exporter: the configuration is valid, probes: %d\n", len(c.targets))
	return 0
}

// printErrors prints what is wrong, a line for each mistake, and returns the exit status.
func printErrors(stderr io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "accelerator_exporter: %s\n", strings.TrimSuffix(line, "\n"))
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
