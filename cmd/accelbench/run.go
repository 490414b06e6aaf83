package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"golang.org/x/term"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/sweep"
)

// folderTime is the part of a folder's or file's name that says when.
const folderTime = "20060102-150405"

func registerRun(app *kingpin.Application, commands map[string]command) {
	c := app.Command("run", "Put load on an endpoint and report. The commands of evalscope-perf and of vLLM's benchmark_serving.py "+
		"run as they are, with only the program's name changed.")
	s := newRunSettings(c)
	commands["run"] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		cfg, err := s.config(os.Args, stderr)
		if err != nil {
			return exitNothing, err
		}
		options, err := s.render.options(s.out.saveResult || s.out.detailed || s.out.addLine)
		if err != nil {
			return exitUsage, usageError{err}
		}
		return s.run(ctx, cfg, options, stdout, stderr)
	}
}

// newRunSettings registers the flags of a run on c.
func newRunSettings(c *kingpin.CmdClause) *runSettings {
	s := &runSettings{ignored: map[string]*bool{}}
	s.endpoint.register(c)
	s.load.register(c)
	s.data.register(c)
	s.ask.register(c)
	s.out.register(c)
	s.render.register(c, "vllm,checks,table, or evalscope,checks,table for an evalscope command line")
	for name, takesValue := range noEffect() {
		f := c.Flag(name, "Accepted, without effect.").Hidden()
		s.ignored[name] = new(bool)
		f.IsSetByUser(s.ignored[name])
		if takesValue {
			_ = f.String()
		} else {
			_ = f.Bool()
		}
	}
	return s
}

// evalscope and vllm tell whose command line it is.
func (s *runSettings) evalscope() bool {
	return s.endpoint.positional.url != ""
}

func (s *runSettings) vllm() bool {
	return s.endpoint.backend != "" || slices.Contains(s.data.kinds.given(), datasetName) || slices.Contains(s.load.counts.given(), numPrompts)
}

// config turns the flags into what to run. Its error is a usageError, unless the
// data set cannot be read. It tells on stderr which flags are without effect.
func (s *runSettings) config(args []string, stderr io.Writer) (sweep.Config, error) {
	for _, a := range []*aliases{&s.endpoint.urls, &s.load.counts, &s.load.users, &s.load.limits, &s.data.kinds, &s.data.inputs, &s.data.outputs} {
		if err := a.check(); err != nil {
			return sweep.Config{}, usageError{err}
		}
	}
	s.adopt(stderr)
	base, api, err := s.endpoint.address(s.vllm())
	if err != nil {
		return sweep.Config{}, usageError{err}
	}
	model, err := s.endpoint.modelName()
	if err != nil {
		return sweep.Config{}, usageError{err}
	}
	client, err := s.endpoint.client(base)
	if err != nil {
		return sweep.Config{}, err
	}
	extra, err := s.ask.extraBody()
	if err != nil {
		return sweep.Config{}, usageError{err}
	}
	data, err := s.data.config(s.endpoint.positional.dataset)
	if err != nil {
		return sweep.Config{}, err
	}
	steps, err := s.load.steps(s.ask.maxTokens, data.Kind == dataset.Replay, s.vllm())
	if err != nil {
		return sweep.Config{}, usageError{err}
	}
	s.tellUnused(data.Kind, steps, stderr)
	return sweep.Config{
		Client: client,
		Run: runlog.Run{
			Version: version.Version, Command: shownCommand(args), URL: base, API: api, Model: model, ModelPath: s.endpoint.modelPath(),
			Dataset: string(data.Kind), DatasetPath: data.Path, Seed: s.load.seed, Machine: s.load.machine, ReusePrompts: s.data.reuse,
			Backend: s.endpoint.backend, Tokenizer: s.out.tokenizer, Label: s.out.label, Metadata: s.out.metadata,
		},
		Steps:     steps,
		Ask:       sweep.Ask{IdleTimeout: time.Duration(s.load.idleTimeout), IgnoreEOS: s.ask.ignoreEOS, ContinuousUsage: s.ask.continuousUsage, Extra: extra},
		Dataset:   data,
		Folder:    filepath.Join(s.out.folder, folderName(time.Now(), model)),
		Metrics:   sweep.Metrics{Exporter: s.out.exporter, Server: s.out.server, HTTP: client.HTTP},
		Unchecked: s.endpoint.unchecked,
	}, nil
}

// adopt takes the defaults of evalscope-perf for its command lines, so that they
// put on the same load.
func (s *runSettings) adopt(stderr io.Writer) {
	if !s.evalscope() {
		return
	}
	var taken []string
	if !s.data.maxPromptSet {
		s.data.maxPrompt = evalscopeMaxPromptLength
		taken = append(taken, fmt.Sprintf("--max-prompt-length %d", s.data.maxPrompt))
	}
	if len(s.load.limits.given()) == 0 {
		s.load.timeout = seconds(evalscopeTimeout)
		taken = append(taken, fmt.Sprintf("--read-timeout %.0f", evalscopeTimeout.Seconds()))
	}
	if len(s.ask.stop) == 0 {
		s.ask.stop = []string{evalscopeStop}
		taken = append(taken, fmt.Sprintf("--stop '%s'", evalscopeStop))
	}
	if len(taken) > 0 {
		fmt.Fprintf(stderr, "accelbench: as evalscope-perf does where its command line does not say: %s\n", strings.Join(taken, ", "))
	}
}

// config is the data set that the flags name.
func (d *dataFlags) config(positional string) (dataset.Config, error) {
	switch {
	case d.path == "" && len(d.paths.given()) > 0:
		return dataset.Config{}, usageError{errors.New("--dataset-path is empty")}
	case positional != "" && d.path != "":
		return dataset.Config{}, usageError{errors.New("two data sets are given, one of them as --dataset-path")}
	case d.rangeRatio == 1:
		d.rangeRatio = 0 // old versions of vLLM's tool: the least is the whole of the length
	case !(d.rangeRatio >= 0 && d.rangeRatio < 1):
		return dataset.Config{}, usageError{errors.New("--random-range-ratio must be from 0 to below 1")}
	}
	c := dataset.Config{
		Path: d.path + positional, MinPromptLength: d.minPrompt, MaxPromptLength: d.maxPrompt, MaxBadRecords: d.maxBad,
		OutputLen: d.outputLen, InputLen: d.inputLen, RangeRatio: d.rangeRatio, PrefixLen: d.prefixLen,
	}
	if c.MaxBadRecords == 0 {
		c.MaxBadRecords = -1 // none, see dataset.Config
	}
	var err error
	switch {
	case d.kind != "":
		if c.Kind, err = dataset.ParseKind(d.kind); err != nil {
			return c, usageError{err}
		}
	case c.Path != "":
		if c.Kind, err = dataset.Detect(c.Path); err != nil {
			return c, err
		}
	default:
		c.Kind = dataset.Random
	}
	switch c.Kind {
	case dataset.Custom:
		if c.OutputLen == 0 && slices.Contains(d.kinds.given(), datasetName) {
			c.OutputLen = vllmCustomOutput
		}
	case dataset.Random:
		if c.OutputLen == 0 {
			c.OutputLen = d.randomOutputLen
		}
	case dataset.Prefix:
		c.NumPrefixes, c.PrefixLen, c.SuffixLen = d.sharedPrefixes, d.sharedPrefixLen, d.sharedSuffixLen
		if c.OutputLen == 0 {
			c.OutputLen = d.sharedOutputLen
		}
	}
	return c, nil
}

// run puts the load on and reports.
func (s *runSettings) run(ctx context.Context, cfg sweep.Config, options report.Options, stdout, stderr io.Writer) (int, error) {
	watchers, stop, err := s.watchers(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	defer stop()
	result, err := sweep.Run(ctx, cfg, watchers...)
	tell(stderr, result)
	if result.Attempted == 0 {
		if err == nil {
			err = errors.New("no request was sent")
		}
		return exitNothing, err
	}
	reportErr := s.report(result.Folder, options, stdout, stderr)
	switch {
	case err != nil: // which is the cause, if the report failed too
		return exitNothing, err
	case reportErr != nil:
		return exitNothing, fmt.Errorf("reporting (the traces are kept in %s): %w", result.Folder, reportErr)
	}
	return exitCode(result)
}

// tell writes what the user should know beside the report.
func tell(stderr io.Writer, result sweep.Result) {
	for _, note := range result.Notes {
		fmt.Fprintf(stderr, "accelbench: %s\n", note)
	}
}

// exitCode is the program's exit code for runs that were reported.
func exitCode(result sweep.Result) (int, error) {
	switch {
	case result.Stop == runlog.StopInterrupted:
		return exitInterrupted, nil
	case result.Stop == runlog.StopFailureRatio:
		return exitFailures, nil
	case result.Succeeded == 0:
		return exitNothing, errors.New("no request succeeded")
	case result.Stop == runlog.StopUnreachable:
		return exitFailures, errors.New("the server could not be reached any more, so the run was stopped")
	}
	return exitMeasured, nil
}

// watchers are what shows the run while it goes, and what ends them.
func (s *runSettings) watchers(ctx context.Context, stderr io.Writer) (watchers []sweep.Watcher, stop func(), err error) {
	stop = func() {}
	if !s.out.quiet {
		watchers = append(watchers, live.NewLine(stderr, columns(stderr)))
	}
	if s.out.webAddress != "" {
		m := live.NewMetrics()
		stop, err = serveMetrics(ctx, m, s.out.webAddress, s.out.webConfig, stderr)
		if err != nil {
			return nil, nil, err
		}
		watchers = append(watchers, m)
	}
	return watchers, stop, nil
}

// columns is the width of the terminal that w is, 0 if it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// tellUnused says which flags are without effect.
func (s *runSettings) tellUnused(kind dataset.Kind, steps []runlog.Step, stderr io.Writer) {
	for name, given := range s.ignored {
		if *given {
			fmt.Fprintf(stderr, "accelbench: --%s is accepted, and without effect here\n", name)
		}
	}
	closed := steps[0].Arrival == runlog.ArrivalClosed
	made := kind == dataset.Random || kind == dataset.Prefix
	saved := s.out.saveResult || s.out.detailed || s.out.addLine
	for _, f := range []struct {
		unused bool
		text   string
	}{
		{s.load.burstinessSet && (closed || steps[0].Rate == 0), "--burstiness is without effect without a --request-rate"},
		{len(s.data.inputs.given()) > 0 && !made, "the length of random prompts is without effect on a file"},
		{s.out.webConfig != "" && s.out.webAddress == "", "--web.config.file is without effect without --web.listen-address"},
		{s.out.resultDir+s.out.resultFile+s.out.label != "" && !saved, "the place of vLLM's result file is without effect without --save-result"},
		{steps[0].Arrival == runlog.ArrivalBurst, "all requests are sent at once, as there is no --request-rate and no --max-concurrency"},
	} {
		if f.unused {
			fmt.Fprintf(stderr, "accelbench: %s\n", f.text)
		}
	}
}

// shownCommand is the command line without what may be a secret.
func shownCommand(args []string) []string {
	shown := append([]string{}, args...)
	if len(shown) > 0 {
		shown[0] = filepath.Base(shown[0])
	}
	hide := false
	for i, a := range shown {
		name, _, assigned := strings.Cut(a, "=")
		secret := slices.Contains([]string{"--header", "--extra-body", "--wandb-api-key"}, strings.ReplaceAll(name, "_", "-"))
		switch {
		case hide && !strings.HasPrefix(a, "--"):
			shown[i] = "<hidden>"
		case secret && assigned:
			shown[i] = name + "=<hidden>"
		case strings.Contains(a, "://"):
			shown[i], _, _ = strings.Cut(a, "?") // a query may hold a token
		}
		hide = secret && !assigned || hide && !strings.HasPrefix(a, "--")
	}
	return shown
}

// folderName is the name of a run's folder: when, and which model if it was
// named.
func folderName(now time.Time, model string) string {
	name := now.Format(folderTime)
	if model := fileName(model); model != "" {
		name += "-" + model
	}
	return name
}

// fileName is a model's name fit for a file: it may be a path.
func fileName(model string) string {
	if model == "" {
		return ""
	}
	base := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, filepath.Base(model))
	return strings.TrimLeft(base, ".")
}
