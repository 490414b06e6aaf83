package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

const runCommand = "run"

type runFlags struct {
	*program
	cfg      load.Config // what is said by one flag alone
	endpoint endpointFlags
	load     loadFlags
	data     dataFlags
	ask      requestFlags
	out      outputFlags
	render   renderFlags
	team     teamFlags
	ignored  []string // flags of vLLM's tool without effect
	client   openai.Config
}

func (p *program) addRun() {
	c := p.Command(runCommand, "Put load on an endpoint and report. Flags have the names and the meaning of vllm bench serve; "+
		"docs/accelbench.md has those that are not shown here.")
	s := p.newRunFlags(c)
	p.commands[runCommand] = func(ctx context.Context) (int, error) { return s.start(ctx, s.saveResults) }
}

func (p *program) newRunFlags(c *kingpin.CmdClause) *runFlags {
	s := &runFlags{program: p}
	s.register(c, s.load.register)
	c.Flag("slo", "Objective such as ttft:p90<2s; exit code 5 if missed.").
		PlaceHolder("SLO").SetValue(appended(&s.cfg.Run.SLO, parseSLO))
	return s
}

func (s *runFlags) register(c *kingpin.CmdClause, levels func(*kingpin.CmdClause)) {
	s.endpoint.register(c, &s.cfg)
	levels(c)
	s.load.registerShape(c, &s.cfg)
	s.data.register(c, &s.cfg)
	s.ask.register(c, &s.cfg.Ask)
	s.out.register(c, &s.cfg)
	s.render.register(c)
	s.team.register(c)
	addIgnored(c, vllmValues, vllmSwitches, &s.ignored)
}

// putter puts a load on, step by step: [load.Run], [load.Follower.Run] as another machine says, or a search.
type putter func(ctx context.Context, cfg load.Config, watchers ...load.Watcher) (load.Result, error)

// start puts the load on and reports; save writes what else the report gives.
func (s *runFlags) start(ctx context.Context, save saver) (int, error) {
	cfg, err := s.config()
	if err != nil {
		return exitNothing, err
	}
	_, code, err := s.putAndReport(ctx, cfg, load.Run, save)
	return code, err
}

// putAndReport puts the load on and reports. Where another machine leads it, there is nothing to report here.
func (s *runFlags) putAndReport(ctx context.Context, cfg load.Config, put putter, save saver) (*result.Report, int, error) {
	follow, stop, err := s.join(ctx, &cfg)
	if err != nil {
		return nil, exitNothing, err
	}
	defer stop()
	if follow != nil {
		if _, err := s.run(ctx, cfg, follow); err != nil {
			return nil, exitFailures, err
		}
		return nil, exitMeasured, nil
	}
	ended, err := s.run(ctx, cfg, put)
	return s.report(ended, err, save)
}

// run puts the load on, shows its progress and, where asked for, its metrics, and prints what the user should know of it.
func (s *runFlags) run(ctx context.Context, cfg load.Config, put putter) (load.Result, error) {
	var watchers []load.Watcher
	if !s.out.quiet {
		watchers = append(watchers, &progressLine{out: s.stderr})
	}
	if s.out.webAddress != "" {
		m, registry, mux := newRunMetrics(), prometheus.NewRegistry(), http.NewServeMux()
		registry.MustRegister(m)
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
		stop, err := serveAt(ctx, s.out.webAddress, "", mux)
		if err != nil {
			return load.Result{}, fmt.Errorf("--web.listen-address: %w", err)
		}
		defer stop()
		watchers = append(watchers, m)
	}
	ended, err := put(ctx, cfg, watchers...)
	printNotes(s.stderr, ended.Notes)
	return ended, err
}

// saver writes files of a report beside those that every report has.
type saver func(r *result.Report) error

// config turns the flags into what to run, and prints which are without effect.
func (s *runFlags) config() (cfg load.Config, err error) {
	cfg = s.cfg
	run := &cfg.Run
	if run.URL, run.API, err = s.endpoint.address(run.Backend); err != nil {
		return cfg, usage(err)
	}
	if err := s.data.complete(&cfg.Dataset, run.BlockSize); err != nil {
		return cfg, err
	}
	cfg.Dataset.API = run.API
	if cfg.Steps, err = s.load.steps(cfg.Dataset.Kind == dataset.Replay, cfg.Ask.IdleTimeout); err != nil {
		return cfg, usage(err)
	}
	if err := cmp.Or(cfg.Dataset.Check(), s.ask.complete(&cfg.Ask, cfg.Dataset)); err != nil {
		return cfg, usage(err)
	}
	if cfg.Metrics.HTTP, err = s.endpoint.http(); err != nil {
		return cfg, err
	}
	s.client = openai.Config{BaseURL: run.URL, HTTP: cfg.Metrics.HTTP, KeepAlive: !s.endpoint.closes, UserAgent: "accelbench/" + version.Version}
	if cfg.Endpoint, err = openai.NewClient(s.client); err != nil {
		return cfg, err
	}
	if cfg.Metrics.ExporterHTTP, err = loadHTTP("--exporter-http-config", s.out.exporterHTTP); err != nil {
		return cfg, err
	}
	run.Version, run.Command = version.Version, withoutSecrets(s.args)
	run.Dataset, run.DatasetPath = string(cfg.Dataset.Kind), cfg.Dataset.Path
	run.Percentiles, run.Objectives = s.render.options.Percentiles, s.render.options.Goodput // for reports that are made again
	if err := addObjectives(&cfg, run.SLO); err != nil {
		return cfg, err
	}
	if s.endpoint.served != "" {
		run.Model, run.ModelPath = s.endpoint.served, run.Model
	}
	cfg.FineWait = 2 * time.Millisecond
	cfg.Folder = filepath.Join(cfg.Folder, time.Now().Format(folderTime))
	cfg.FolderSuffix = func(model string) string { return "-" + show.FileName(filepath.Base(model), "model") }
	if len(s.ignored) > 0 {
		fmt.Fprintf(s.stderr, "accelbench: without effect here: %s\n", strings.Join(s.ignored, ", "))
	}
	return cfg, nil
}

// folderTime is the part of a folder's or file's name that says when.
const folderTime = "20060102-150405"

// withoutSecrets is a command line without what may hold a key: the values of some flags, and the queries of URLs.
func withoutSecrets(args []string) []string {
	secret := []string{"--header", "--extra-body", "--bindings", "--command", "--wandb-api-key"}
	shown := joinValues(args)
	for i, word := range shown {
		name, _, assigned := strings.Cut(word, "=")
		switch {
		case assigned && slices.Contains(secret, name):
			shown[i] = name + "=<hidden>"
		case i > 0 && slices.Contains(secret, shown[i-1]):
			shown[i] = "<hidden>"
		case strings.Contains(word, "://"):
			shown[i], _, _ = strings.Cut(word, "?")
		}
	}
	return shown
}

// errNothingSent ends a load that was over before its first request.
var errNothingSent = errors.New("no request was sent")

// report reports on a run that ended with err, if a request was sent: files first, as the reader of the output may be gone.
func (s *runFlags) report(ended load.Result, err error, save saver) (*result.Report, int, error) {
	if ended.Attempted == 0 && ended.Stop != runlog.StopVoid {
		return nil, exitNothing, cmp.Or(err, errNothingSent)
	}
	r, reportErr := result.Read(result.Options{}, ended.Folder)
	if reportErr == nil {
		reportErr = errors.Join(writeReport(ended.Folder, r, s.stderr), save(r), s.render.print(s.stdout, r))
	}
	switch {
	case err != nil: // which is the cause, if the report failed too
		return r, exitNothing, err
	case reportErr != nil:
		return r, exitNothing, fmt.Errorf("reporting (the traces are kept in %s): %w", ended.Folder, reportErr)
	}
	code, err := exitCode(ended)
	if missed := show.Missed(r); code == exitMeasured && len(missed) > 0 {
		return r, exitMissed, fmt.Errorf("objectives are missed: %s", strings.Join(missed, "; "))
	}
	return r, code, err
}

// exitCode is the program's exit code for runs that were reported.
func exitCode(result load.Result) (int, error) {
	switch {
	case result.Stop == runlog.StopInterrupted:
		return exitInterrupted, nil
	case result.Stop == runlog.StopVoid:
		return exitFailures, errors.New("the run ended early: a machine was lost, so the step is void; give --allow-fewer to go on without it")
	case result.Succeeded == 0:
		return exitNothing, errors.New("no request succeeded")
	case result.Stop == runlog.StopUnreachable:
		return exitFailures, errors.New("the run ended early: the server could not be reached any more")
	case result.Stop == runlog.StopFailureRatio:
		return exitFailures, errors.New("the run ended early: more requests failed than --max-failure-ratio allows")
	}
	return exitMeasured, nil
}

// printNotes writes what the user should know beside the report, a line each.
func printNotes(stderr io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(stderr, "accelbench: %s\n", note)
	}
}

// saveResults writes vLLM's result file of each step, where it is asked for.
func (s *runFlags) saveResults(r *result.Report) error {
	if !s.out.saveResult {
		return nil
	}
	if err := os.MkdirAll(s.out.resultDir, 0o755); err != nil {
		return err
	}
	for i := range r.Steps {
		step := &r.Steps[i]
		name := cmp.Or(s.out.resultName, show.VLLMFileName(&r.Runs[0], step, time.Now()))
		if ext := filepath.Ext(name); i > 0 && s.out.resultName != "" { // of a sweep
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i+1, ext)
		}
		path := filepath.Join(s.out.resultDir, name)
		write := func(w io.Writer) error { return show.VLLMResult(w, r, step, s.render.metrics) }
		if err := writeFile(path, s.out.appendResult, write); err != nil {
			return err
		}
		fmt.Fprintf(s.stderr, "accelbench: vLLM's result is in %s\n", path)
	}
	return nil
}

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
	addIgnored(c, "tokenizer-path connect-timeout log-every-n-query wandb-api-key name", "debug stream", &s.ignored)

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
	return writeFile(show.PictureName, false, func(w io.Writer) error { return show.Picture(w, r) })
}
