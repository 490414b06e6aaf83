package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kingpin/v2"
	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/pace"
)

// paceSettings are the flags of fakehost pace.
type paceSettings struct {
	listen string
	config pace.Config
}

func (s *paceSettings) flags(app *kingpin.Application) {
	c, d := &s.config, pace.DefaultConfig()
	app.Flag("listen-address", "Address to serve at.").Default("127.0.0.1:8000").StringVar(&s.listen)
	app.Flag("model", "Name of the model.").Default(d.Model).StringVar(&c.Model)
	app.Flag("gap", "Time between two chunks of a stream. Put this server on the machine that is to put on load and compare "+
		"what is reported with GET /truth: so you learn how many streams at this gap the machine can measure.").
		Default(d.Gap.String()).DurationVar(&c.Gap)
	app.Flag("tokens", "Chunks of an answer that max_tokens does not cut.").Default(fmt.Sprint(d.Tokens)).IntVar(&c.Tokens)
	app.Flag("keep", "Requests to keep the truth of, the latest.").Default(fmt.Sprint(d.Keep)).IntVar(&c.Keep)
}

func (s *paceSettings) serve(ctx context.Context, _ state, logger log.Logger) error {
	server, err := pace.New(s.config)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, s.listen)
	if err != nil {
		return err
	}
	_ = logger.Log("msg", "serving", "address", "http://"+listener.Addr().String(), "model", s.config.Model)
	return serveHTTP(ctx, listener, server.Handler())
}
