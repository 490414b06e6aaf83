package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

// server is a stand-in of a model server, as its flags say.
type server struct {
	listen     string
	config     fakevllm.Config
	apiKeyFile string
	numa       numa
}

func (s *server) register(app *kingpin.Application) {
	c, d := &s.config, fakevllm.DefaultConfig()
	app.Flag("listen-address", "Address on which to serve.").Default("127.0.0.1:8000").StringVar(&s.listen)
	app.Flag("model", "Name of the model.").Default(d.Model).StringVar(&c.Model)
	app.Flag("max-num-seqs", "Maximum number of requests in the batch.").Default(fmt.Sprint(d.MaxNumSeqs)).IntVar(&c.MaxNumSeqs)
	app.Flag("step-base", "Duration of a decode step without requests.").Default(d.StepBase.String()).DurationVar(&c.StepBase)
	app.Flag("step-per-sequence", "Duration that each running request adds to a step.").Default(d.StepPerSequence.String()).DurationVar(&c.StepPerSequence)
	app.Flag("prefill-rate", "Prompt tokens prefilled per second.").Default(fmt.Sprint(d.PrefillTokensPerSecond)).Float64Var(&c.PrefillTokensPerSecond)
	app.Flag("output-tokens", "Mean number of tokens of an answer without max_tokens.").Default(fmt.Sprint(d.MeanOutputTokens)).IntVar(&c.MeanOutputTokens)
	app.Flag("prefix-cache-blocks", "Blocks that the prefix cache holds. 0: no cache.").Default("0").IntVar(&c.CacheBlocks)
	app.Flag("block-size", "Tokens of a block.").Default(fmt.Sprint(d.BlockSize)).IntVar(&c.BlockSize)
	app.Flag("speed", "Speed, as a multiple of that of the real server whose timing it imitates.").Default("1").Float64Var(&c.Speed)
	app.Flag("api-key-file", "File with the API key that requests must have.").StringVar(&s.apiKeyFile)
	app.Flag("background-users", "Maximum number of simulated users, who come and go in a wave.").Default("0").IntVar(&c.BackgroundUsers)
	app.Flag("background-period", "Period of that wave.").Default(d.BackgroundPeriod.String()).DurationVar(&c.BackgroundPeriod)
	app.Flag("numa-penalty", "Factor by which the model is slower while the process may run on CPUs off the node of its cards.").Default("1").Float64Var(&s.numa.penalty)
	app.Flag("numa-node", "NUMA node of its cards.").Default("0").IntVar(&s.numa.node)
	app.Flag("path.sysfs", "sysfs mountpoint, or a made-up tree with the CPUs of that node.").Default("/sys").StringVar(&s.numa.sysfs)
}

// run is fakehost vllm. It returns the exit status.
func (s *server) run(st state, args []string, stderr io.Writer) int {
	app := kingpin.New("fakehost vllm", "Serve an OpenAI-compatible endpoint with vLLM's continuous batching and no model.")
	app.UsageWriter(os.Stdout)
	s.register(app)
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

// serve runs the server until ctx ends, and writes its load for the tools.
func (s *server) serve(ctx context.Context, st state, logger log.Logger) error {
	if s.apiKeyFile != "" {
		key, err := os.ReadFile(s.apiKeyFile)
		if err != nil {
			return fmt.Errorf("reading the API key: %w", err)
		}
		s.config.APIKey = strings.TrimSpace(string(key))
	}
	standIn, err := fakevllm.New(s.config)
	if err != nil {
		return err
	}
	penalty, err := s.numa.factor()
	if err != nil {
		return err
	}
	standIn.SetPenalty(penalty)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wg.Go(func() { standIn.Run(ctx) })
	wg.Go(func() { s.share(ctx, st, standIn, logger) })
	return s.listenAndServe(ctx, standIn.Handler(), logger)
}

func (s *server) listenAndServe(ctx context.Context, handler http.Handler, logger log.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	_ = logger.Log("msg", "serving", "address", "http://"+listener.Addr().String(), "model", s.config.Model)
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	// Streams for ever are among the faults: do not wait for them.
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// share writes the load for the tools and takes the fault from the state folder.
func (s *server) share(ctx context.Context, st state, standIn *fakevllm.Server, logger log.Logger) {
	defer func() { _ = st.writeLoad(smi.Load{}) }()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	fault, logged := "", false
	for {
		if f := st.setting("vllm.fault"); f != fault {
			fault = f
			standIn.SetFault(faultNamed(f, logger))
		}
		if penalty, err := s.numa.factor(); err == nil { // taskset may have moved it
			standIn.SetPenalty(penalty)
		}
		err := st.writeLoad(cardLoad(standIn.Load()))
		if err != nil && st != os.DevNull && !logged { // without a folder there is nobody to share with
			logged = true
			_ = logger.Log("msg", "cannot write the load into $FAKEHOST_STATE: the tools print an idle machine", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func faultNamed(name string, logger log.Logger) fakevllm.Fault {
	f, err := fakevllm.ParseFault(cmp.Or(name, string(fakevllm.FaultNone)))
	if err != nil {
		_ = logger.Log("msg", "ignored vllm.fault", "err", err)
		return fakevllm.FaultNone
	}
	return f
}

// cardLoad turns the server's load into the cards'. Utilization rises steeply with
// the first requests and flattens, as it does on a card whose batch grows.
func cardLoad(l fakevllm.Load) smi.Load {
	const kernelNameLength = 15
	const steepness = 20
	path, _ := os.Executable()
	name := filepath.Base(path)
	return smi.Load{
		Busy:    1 - math.Exp(-float64(l.Running)/steepness),
		Cache:   l.KVCacheUsage,
		PID:     os.Getpid(),
		Process: name[:min(len(name), kernelNameLength)],
	}
}
