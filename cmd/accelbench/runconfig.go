package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/sweep"
)

// evalscope and vllm tell whose command line it is.
func (s *runSettings) evalscope() bool {
	return s.endpoint.positional.url != ""
}

func (s *runSettings) vllm() bool {
	return s.endpoint.backend != "" || slices.Contains(s.data.kinds.given(), datasetName) || slices.Contains(s.load.counts.given(), numPrompts)
}

// config turns the flags into what to run. Its error is a usageError, unless a
// file that they name cannot be read. It tells on stderr which flags are without
// effect.
func (s *runSettings) config(args []string, stderr io.Writer) (sweep.Config, error) {
	for _, a := range []*aliases{&s.endpoint.urls, &s.load.counts, &s.load.users, &s.load.limits, &s.load.warm, &s.endpoint.backends, &s.endpoint.patience, &s.data.kinds, &s.data.inputs} {
		if err := a.check(); err != nil {
			return sweep.Config{}, usageError{err}
		}
	}
	if stray := s.endpoint.positional.url; s.vllm() && stray != "" && !isURL(stray) {
		return sweep.Config{}, usageError{fmt.Errorf("%q belongs to no flag: quote a value with blanks, and give the endpoint as --base-url", stray)}
	}
	s.adopt(stderr)
	cfg, err := s.endpointConfig(args)
	if err != nil {
		return sweep.Config{}, err
	}
	if cfg.Ask, err = s.ask.config(time.Duration(s.load.idleTimeout), cfg.Run.API); err != nil {
		return sweep.Config{}, usageError{err}
	}
	if cfg.Dataset, err = s.data.config(s.endpoint.positional.dataset); err != nil {
		return sweep.Config{}, err
	}
	cfg.Run.Dataset, cfg.Run.DatasetPath = string(cfg.Dataset.Kind), cfg.Dataset.Path
	if cfg.Steps, err = s.load.steps(s.ask.maxTokens, cfg.Dataset.Kind == dataset.Replay, s.vllm()); err != nil {
		return sweep.Config{}, usageError{err}
	}
	if err := s.takeForeign(cfg.Dataset.Kind, stderr); err != nil {
		return sweep.Config{}, usageError{err}
	}
	s.tellUnused(cfg.Dataset.Kind, cfg.Steps, stderr)
	return cfg, nil
}

// endpointConfig is the part of the configuration that says what is asked where.
func (s *runSettings) endpointConfig(args []string) (sweep.Config, error) {
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
	exporterHTTP, err := s.out.exporterHTTP.config("--exporter-http-config")
	if err != nil {
		return sweep.Config{}, err
	}
	return sweep.Config{
		Client: client,
		Run: runlog.Run{
			Version: version.Version, Command: shownCommand(args), URL: base, API: api, Model: model, ModelPath: s.endpoint.modelPath(),
			LoRAModules: s.endpoint.modules, LoRAAssignment: s.endpoint.loraAssignment(),
			Seed: s.load.seed, Machine: s.load.machine, ReusePrompts: s.data.reuse,
			Backend: s.endpoint.backend, Tokenizer: s.out.tokenizer, Label: s.out.label, Metadata: s.out.metadata,
		},
		Folder:       filepath.Join(s.out.folder, time.Now().Format(folderTime)),
		FolderSuffix: folderSuffix,
		Metrics:      sweep.Metrics{Exporter: s.out.exporter, ExporterHTTP: exporterHTTP, Server: s.out.server, HTTP: client.HTTP},
		Ready:        time.Duration(s.endpoint.ready),
		Unchecked:    s.endpoint.unchecked,
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
	fmt.Fprintln(stderr, "accelbench: the figures differ from evalscope-perf's in what they mean: see \"What differs from evalscope-perf\" in docs/accelbench.md")
	if len(taken) > 0 {
		fmt.Fprintf(stderr, "accelbench: defaults of evalscope-perf used: %s\n", strings.Join(taken, ", "))
	}
}

// config is the data set that the flags name.
func (d *dataFlags) config(positional string) (dataset.Config, error) {
	if err := d.check(positional); err != nil {
		return dataset.Config{}, usageError{err}
	}
	c := dataset.Config{
		Path: d.path + positional, MinPromptLength: d.minPrompt, MaxPromptLength: d.maxPrompt, MaxBadRecords: d.maxBad,
		OutputLen: d.outputLen, InputLen: d.inputLen, RangeRatio: float64(d.rangeRatio), PrefixLen: d.prefixLen, VocabularySize: d.vocabulary,
	}
	if c.MaxBadRecords == 0 {
		c.MaxBadRecords = -1 // none, see dataset.Config
	}
	if c.RangeRatio == 1 {
		c.RangeRatio = 0 // old versions of vLLM's tool: the least is the whole of the length
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
	if c.Trace, err = d.trace.config(d.kind); err != nil {
		return c, usageError{err}
	}
	if c.Kind == dataset.Prefix {
		c.NumPrefixes, c.PrefixLen, c.SuffixLen = d.sharedPrefixes, d.sharedPrefixLen, d.sharedSuffixLen
	}
	if c.OutputLen == 0 {
		c.OutputLen = d.outputOf(c.Kind)
	}
	return c, nil
}

func (d *dataFlags) check(positional string) error {
	switch {
	case d.path == "" && len(d.paths.given()) > 0:
		return errors.New("--dataset-path is empty")
	case positional != "" && d.path != "":
		return errors.New("two data sets are given, one of them as --dataset-path")
	}
	return nil
}

// outputOf is the length of an answer where no flag tells it for every kind, 0
// where the data set or the server does.
func (d *dataFlags) outputOf(kind dataset.Kind) int {
	switch {
	case kind == dataset.Random:
		return d.randomOutputLen
	case kind == dataset.Prefix:
		return d.sharedOutputLen
	case kind == dataset.ShareGPT:
		return d.shareGPTOutputLen
	case kind == dataset.Custom && d.customOutputSet:
		return max(0, d.customOutputLen) // -1 leaves it to the record
	case kind == dataset.Custom && slices.Contains(d.kinds.given(), datasetName):
		return vllmCustomOutput
	}
	return 0
}

// tellUnused says which flags are without effect.
func (s *runSettings) tellUnused(kind dataset.Kind, steps []runlog.Step, stderr io.Writer) {
	closed := steps[0].Arrival == runlog.ArrivalClosed
	made := kind == dataset.Random || kind == dataset.Prefix
	saved := s.out.saveResult || s.out.detailed || s.out.addLine
	for _, f := range []struct {
		unused bool
		text   string
	}{
		{s.load.burstinessSet && (closed || steps[0].Rate == 0 && s.load.rise == ""), "--burstiness is without effect without a --request-rate"},
		{len(s.data.inputs.given()) > 0 && !made, "the length of random prompts is without effect on a file"},
		{s.out.webConfig != "" && s.out.webAddress == "", "--web.config.file is without effect without --web.listen-address"},
		{s.out.exporterHTTP.any() && s.out.exporter == "", "the exporter's HTTP configuration is without effect without --exporter"},
		{s.out.resultDir+s.out.resultFile+s.out.label != "" && !saved, "the name of vLLM's result file is without effect without --save-result"},
		{steps[0].Warmups > 0, fmt.Sprintf("%d requests are sent before each step to warm up, and are in no figure", steps[0].Warmups)},
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
