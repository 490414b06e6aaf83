// Command fleet serves the metrics of many hosts from one process, for
// measuring what a Prometheus server needs to scrape them. It takes the
// expositions of one or a few real exporters and lets their values move.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		stop()
		os.Exit(1)
	}
}

// settings are the command line.
type settings struct {
	from    []string // expositions to make hosts of: URLs or files
	hosts   int
	listen  string
	targets string
	speed   float64
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.Func("from", "URL or file of an exposition to simulate; repeatable, hosts take them in turn.", func(source string) error {
		s.from = append(s.from, source)
		return nil
	})
	flags.IntVar(&s.hosts, "hosts", 100, "Number of hosts.")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:0", "Address to listen on.")
	flags.StringVar(&s.targets, "targets", "", "File to write the targets to, for file_sd_configs.")
	flags.Float64Var(&s.speed, "speed", 1, "Seconds that pass on the hosts in one second.")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if len(s.from) == 0 {
		return s, errors.New("give at least one --from=URL or --from=FILE")
	}
	if s.hosts < 1 || s.speed <= 0 {
		return s, errors.New("--hosts and --speed must be positive")
	}
	return s, nil
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	var kinds [][]*dto.MetricFamily
	for _, source := range s.from {
		families, err := capture(ctx, source)
		if err != nil {
			return fmt.Errorf("taking the exposition of %s: %w", source, err)
		}
		kinds = append(kinds, families)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.listen)
	if err != nil {
		return err
	}
	fleet := newFleet(kinds, s.hosts, s.speed, time.Now())
	if s.targets != "" {
		if err := os.WriteFile(s.targets, fleet.targets(listener.Addr().String()), 0o644); err != nil { //nolint:gosec // names of hosts that do not exist
			return errors.Join(err, listener.Close())
		}
	}
	fmt.Fprintf(out, "serving %d hosts at http://%s/hosts/0/metrics and so on\n", s.hosts, listener.Addr())
	server := &http.Server{Handler: fleet, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
