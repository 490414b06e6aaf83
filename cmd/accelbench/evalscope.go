package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// addEvalscope adds a run with the flags, the defaults and the output of evalscope-perf 1.0.0.
func (p *program) addEvalscope() *runFlags {
	c := p.Command("evalscope-perf", "Run a command line of evalscope-perf: print its summary, and leave {model}_{dataset}_p{P}.txt "+
		"and performance_metrics.png in the working directory. The report of run is kept too. "+
		"What the figures mean differs: docs/accelbench.md.")
	s := &runFlags{program: p}
	c.Arg("URL", "Endpoint with its full path.").Required().StringVar(&s.endpoint.baseURL)
	c.Arg("MODEL", "Model to ask for.").Required().StringVar(&s.cfg.Run.Model)
	c.Arg("DATASET", "File with the prompts.").Required().StringVar(&s.cfg.Dataset.Path)

	s.cfg.Run.Backend = "openai-chat"
	s.load.repeat = 1
	s.cfg.Dataset.Trace.Second, s.cfg.Dataset.Trace.Block = 1, 16
	s.cfg.Dataset.DisableShuffle = true
	s.render.formats = []string{"head", "evalscope", "summary"}
	c.Flag("parallels", "Users who each wait for their answer; repeatable: a sweep.").Default("1").SetValue(appended(&s.load.users, parseCount))
	c.Flag("n", "Requests of each step.").Default("1000").SetValue(parsed(&s.load.Requests, parseCount))
	c.Flag("read-timeout", "Timeout of a request in seconds.").Default("30").SetValue(parsed(&s.load.Timeout, parseSeconds))
	c.Flag("dataset", "Kind of the file. Default: as it looks.").PlaceHolder("NAME").StringVar((*string)(&s.cfg.Dataset.Kind))
	c.Flag("min-prompt-length", "Shorter prompts are left out, in characters.").Default("0").IntVar(&s.cfg.Dataset.MinPromptLength)
	c.Flag("max-prompt-length", "Longer prompts are left out, in characters.").Default("256").IntVar(&s.cfg.Dataset.MaxPromptLength)
	c.Flag("max-tokens", "Most tokens of an answer. Default: the server's.").PlaceHolder("N").SetValue(parsed(&s.data.outputLen, parseCount))
	var stops []string
	s.ask.members = map[string]json.RawMessage{}
	c.Flag("stop", "Where an answer ends; repeatable.").Default("<|im_end|>").SetValue(parsedFlag(func(text string) (err error) {
		stops = append(stops, text)
		s.ask.members["stop"], err = json.Marshal(stops)
		return err
	}))
	s.out.registerRun(c, &s.cfg)
	s.team.register(c)
	// These change neither load nor figures.
	ignored := hiddenFlags{values: "tokenizer-path connect-timeout log-every-n-query wandb-api-key name", switches: "debug stream"}
	ignored.register(c, &s.ignored)

	p.commands[c.Model().Name] = func(ctx context.Context) (int, error) { return s.start(ctx, s.saveEvalscope) }
	return s
}

// saveEvalscope writes into the working directory a summary for each number of users, and the picture of all.
func (s *runFlags) saveEvalscope(r *result.Report) error {
	for i := range r.Steps {
		step := &result.Report{Steps: r.Steps[i : i+1]}
		name := show.EvalscopeFileName(r.Runs[0].Model, r.Runs[0].DatasetPath, &r.Steps[i])
		if err := writeFile(name, false, func(w io.Writer) error { return show.Print(w, "evalscope", step, nil) }); err != nil {
			return err
		}
		fmt.Fprintf(s.stderr, "accelbench: evalscope's summary is in %s\n", name)
	}
	overview := show.Pictures(r)[0]
	return writeFile(overview.FileName, false, overview.WritePNG)
}
