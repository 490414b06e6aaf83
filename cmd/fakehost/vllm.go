package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// server is a stand-in of a model server, as its flags say.
type server struct {
	listen     string
	config     fakevllm.Config
	apiKeyFile string
	requestLog string
	numa       numa
}

// paceFlags are those of fakehost pace: the same server on a fixed schedule.
func (s *server) paceFlags(app *kingpin.Application) {
	c, d := &s.config.Schedule, fakevllm.DefaultConfig().Schedule
	app.Flag("listen-address", "Address on which to serve.").Default("127.0.0.1:8000").StringVar(&s.listen)
	app.Flag("model", "Name of the model.").Default("pace").StringVar(&s.config.Model)
	app.Flag("gap", "Time between two chunks of a stream.").Default("20ms").DurationVar(&c.Gap)
	app.Flag("tokens", "Chunks of an answer when the request has no max_tokens.").Default(fmt.Sprint(d.Tokens)).IntVar(&c.Tokens)
	app.Action(func(*kingpin.ParseContext) error {
		c.Gap = cmp.Or(c.Gap, 20*time.Millisecond) // 0 is no schedule
		return nil
	})
}

// vllmFlags are those of fakehost vllm.
func (s *server) vllmFlags(app *kingpin.Application) {
	c, d := &s.config, fakevllm.DefaultConfig()
	app.Flag("listen-address", "Address on which to serve.").Default("127.0.0.1:8000").StringVar(&s.listen)
	app.Flag("model", "Name of the model.").Default(d.Model).StringVar(&c.Model)
	app.Flag("max-num-seqs", "Maximum number of requests in the batch.").Default(fmt.Sprint(d.MaxNumSeqs)).IntVar(&c.MaxNumSeqs)
	app.Flag("step-base", "Duration of a decode step without requests.").Default(d.StepBase.String()).DurationVar(&c.StepBase)
	app.Flag("step-per-sequence", "Duration that each running request adds to a step.").Default(d.StepPerSequence.String()).DurationVar(&c.StepPerSequence)
	app.Flag("prefill-rate", "Prompt tokens prefilled per second.").Default(fmt.Sprint(d.PrefillTokensPerSecond)).Float64Var(&c.PrefillTokensPerSecond)
	app.Flag("output-tokens", "Mean number of tokens of an answer without max_tokens.").Default(fmt.Sprint(d.MeanOutputTokens)).IntVar(&c.MeanOutputTokens)
	app.Flag("speed", "Speed, as a multiple of the measured machine's.").Default("1").Float64Var(&c.Speed)
	app.Flag("fault", "Fault of every request; /fault/NAME/v1/... is that of one request. One of: "+strings.Trim(fmt.Sprint(fakevllm.Faults()), "[]")+".").
		Default(string(fakevllm.FaultNone)).StringVar((*string)(&c.Fault))
	app.Flag("fault-requests", "Number of requests after which --fault, or the fault of the state folder, is over. 0 for no limit.").Default("0").IntVar(&c.FaultRequests)
	app.Flag("api-key-file", "File with the API key that requests must have.").StringVar(&s.apiKeyFile)
	app.Flag("request-log", "File to which a JSON line is appended for each completion.").StringVar(&s.requestLog)
	app.Flag("background-users", "Maximum number of simulated users, who come and go in a wave.").Default("0").IntVar(&c.BackgroundUsers)
	app.Flag("background-period", "Period of that wave.").Default(d.BackgroundPeriod.String()).DurationVar(&c.BackgroundPeriod)
	app.Flag("numa-penalty", "Factor by which the model is slower while the process may run on CPUs off the node of its cards.").Default("1").Float64Var(&s.numa.penalty)
	app.Flag("numa-node", "NUMA node of its cards.").Default("0").IntVar(&s.numa.node)
	app.Flag("path.sysfs", "sysfs mountpoint, or a made-up tree with the CPUs of that node.").Default("/sys").StringVar(&s.numa.sysfs)
}

// serve runs the server until ctx ends. One with an engine writes its load for the tools.
func (s *server) serve(ctx context.Context, st state, logger log.Logger) error {
	if s.apiKeyFile != "" {
		key, err := os.ReadFile(s.apiKeyFile)
		if err != nil {
			return fmt.Errorf("reading the API key: %w", err)
		}
		s.config.APIKey = strings.TrimSpace(string(key))
	}
	if s.requestLog != "" {
		file, err := os.OpenFile(s.requestLog, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return fmt.Errorf("opening the request log: %w", err)
		}
		defer file.Close()
		s.config.Log = logTo(file, logger)
	}
	standIn, err := fakevllm.New(s.config)
	if err != nil {
		return err
	}
	if s.config.Schedule.Gap == 0 { // a schedule takes no penalty
		penalty, err := s.numa.factor()
		if err != nil {
			return err
		}
		standIn.SetPenalty(penalty)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	if s.config.Schedule.Gap == 0 {
		wg.Go(func() { _ = standIn.Run(ctx) }) // its only error is a second Run
		wg.Go(func() { s.share(ctx, st, standIn, logger) })
	}
	_ = logger.Log("msg", "serving", "address", "http://"+listener.Addr().String(), "model", s.config.Model)
	web := &http.Server{Handler: standIn.Handler(), ReadHeaderTimeout: 10 * time.Second}
	// Streams for ever are among the faults: do not wait for them.
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	err = web.Serve(listener)
	stop()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// logTo writes each request's record as a line when the request is over, so that the
// server need not be stopped before it is read.
func logTo(file io.Writer, logger log.Logger) func(fakevllm.RequestRecord) {
	var mu sync.Mutex
	lines := json.NewEncoder(file)
	return func(rec fakevllm.RequestRecord) {
		mu.Lock()
		defer mu.Unlock()
		if err := lines.Encode(rec); err != nil {
			_ = logger.Log("msg", "failed to write the request log", "err", err)
		}
	}
}

// share writes the load for the tools and takes the fault from the state folder.
func (s *server) share(ctx context.Context, st state, standIn *fakevllm.Server, logger log.Logger) {
	defer func() { _ = st.writeLoad(load{}) }()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	fault, logged := "", false
	for {
		if f := st.setting("vllm.fault"); f != fault {
			fault = f
			standIn.SetFault(faultNamed(f, s.config.Fault, logger))
		}
		if penalty, err := s.numa.factor(); err == nil { // taskset may have moved it
			standIn.SetPenalty(penalty)
		}
		if err := st.writeLoad(cardLoad(standIn.Load())); err != nil && !logged {
			logged = true
			_ = logger.Log("msg", "failed to write the load: mx-smi and npu-smi will print an idle machine", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func faultNamed(name string, otherwise fakevllm.Fault, logger log.Logger) fakevllm.Fault {
	if name == "" {
		return otherwise
	}
	f, err := fakevllm.ParseFault(name)
	if err != nil {
		_ = logger.Log("msg", "ignored vllm.fault", "err", err)
		return otherwise
	}
	return f
}

// cardLoad turns the server's load into the cards'. Utilization rises steeply with
// the first requests and flattens, as it does on a card whose batch grows.
func cardLoad(l fakevllm.Load) load {
	const kernelNameLength = 15
	const steepness = 20
	path, _ := os.Executable()
	name := filepath.Base(path)
	return load{
		Busy:    1 - math.Exp(-float64(l.Running)/steepness),
		Cache:   l.KVCacheUsage,
		PID:     os.Getpid(),
		Process: name[:min(len(name), kernelNameLength)],
	}
}
