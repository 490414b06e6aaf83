package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// paceSettings are the flags of fakehost pace: fakehost vllm on a fixed schedule.
type paceSettings struct {
	listen   string
	model    string
	schedule fakevllm.Schedule
}

func (s *paceSettings) flags(app *kingpin.Application) {
	c, d := &s.schedule, fakevllm.DefaultConfig().Schedule
	app.Flag("listen-address", "Address on which to serve.").Default("127.0.0.1:8000").StringVar(&s.listen)
	app.Flag("model", "Name of the model.").Default("pace").StringVar(&s.model)
	app.Flag("gap", "Time between two chunks of a stream.").Default("20ms").DurationVar(&c.Gap)
	app.Flag("tokens", "Chunks of an answer when the request has no max_tokens.").Default(fmt.Sprint(d.Tokens)).IntVar(&c.Tokens)
	app.Flag("keep", "Number of requests to keep for GET /truth.").Default(fmt.Sprint(d.Keep)).IntVar(&c.Keep)
}

func (s *paceSettings) serve(ctx context.Context, _ state, logger log.Logger) error {
	if s.schedule.Gap == 0 {
		s.schedule.Gap = 20 * time.Millisecond
	}
	server, err := fakevllm.New(fakevllm.Config{Model: s.model, Schedule: s.schedule})
	if err != nil {
		return err
	}
	listener, err := listen(ctx, s.listen)
	if err != nil {
		return err
	}
	_ = logger.Log("msg", "serving", "address", "http://"+listener.Addr().String(), "model", s.model)
	return serveHTTP(ctx, listener, server.Handler())
}
