package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// runFlags are the flags of a run.
type runFlags struct {
	endpoint endpointFlags
	load     loadFlags
	data     dataFlags
	ask      askFlags
	out      outputFlags
	render   renderFlags
	command  *kingpin.CmdClause
	groups   []*flagGroup // as help shows them
}

// newRunFlags registers the flags of a run on c.
func newRunFlags(c *kingpin.CmdClause) *runFlags {
	s := &runFlags{command: c}
	s.endpoint.register(s.group("Server"))
	s.load.register(s.group("Load"))
	s.data.register(s.group("Data"))
	s.ask.register(s.group("Sampling"))
	output := s.group("Output")
	s.out.register(output)
	s.render.register(output, strings.Join(defaultFormats(), ",")+"; on a command line of evalscope-perf or vLLM: head,evalscope,checks,table or head,vllm,checks,table")
	registerOthers(c)
	// These are translated to flags before anything is set.
	c.Arg("URL", "Endpoint, as evalscope-perf takes it: with its full path.").String()
	c.Arg("MODEL", "Model, as evalscope-perf takes it.").String()
	bind(c.Arg("DATASET", "File with prompts, as evalscope-perf takes it."), filename(new(string)))
	return s
}

// group begins a group of flags.
func (s *runFlags) group(title string) *flagGroup {
	s.groups = append(s.groups, &flagGroup{Title: title, command: s.command})
	return s.groups[len(s.groups)-1]
}

// config turns the flags into what to run, and into what to tell of them. shown is the
// command line as it was typed.
func (s *runFlags) config(shown []string) (cfg load.Config, notes []string, err error) {
	base, api, err := s.endpoint.address()
	if err != nil {
		return cfg, nil, usage(err)
	}
	client, err := s.endpoint.client(base)
	if err != nil {
		return cfg, nil, err
	}
	exporterHTTP, err := s.out.exporterHTTP.config("--exporter-http-config")
	if err != nil {
		return cfg, nil, err
	}
	ask, err := s.ask.config(s.load.idle)
	if err != nil {
		return cfg, nil, usage(err)
	}
	data, err := s.data.dataset()
	if err != nil {
		return cfg, nil, err
	}
	steps, err := s.load.steps(s.ask.maxTokens, data.Kind == dataset.Replay)
	if err != nil {
		return cfg, nil, usage(err)
	}
	run := runlog.Run{
		Version: version.Version, Command: withoutSecrets(s.command.Model(), shown), URL: base, API: api, Dataset: string(data.Kind), DatasetPath: data.Path,
		Seed: s.load.seed, ReusePrompts: s.data.reuse,
		Backend: s.endpoint.backend, Metadata: s.out.metadata,
	}
	s.endpoint.setModel(&run)
	return load.Config{
		Client: client, Run: run, Steps: steps, Ask: ask, Dataset: data,
		Folder:       filepath.Join(s.out.folder, time.Now().Format(folderTime)),
		FolderSuffix: folderSuffix,
		Metrics:      load.Metrics{Exporter: s.out.exporter, ExporterHTTP: exporterHTTP, Server: s.out.server, HTTP: client.HTTP},
		Ready:        s.endpoint.ready,
		Unchecked:    s.endpoint.unchecked,
	}, s.notes(data.Kind, steps[0]), nil
}

// notes are what to tell of the flags: which are without effect, and what is not plain.
func (s *runFlags) notes(kind dataset.Kind, first runlog.Step) []string {
	notes := s.load.unused(first)
	for _, n := range []struct {
		tell bool
		text string
	}{
		{s.data.inputLenSet && kind != dataset.Random && kind != dataset.Prefix, "the length of random prompts is without effect on a file"},
		{s.out.webConfig != "" && s.out.webAddress == "", "--web.config.file is without effect without --web.listen-address"},
		{s.out.exporterHTTP.any() && s.out.exporter == "", "the exporter's HTTP configuration is without effect without --exporter"},
		{s.out.resultDir+s.out.resultFile != "" && !s.out.vllmResult(), "the name of vLLM's result file is without effect without --save-result"},
		{first.Warmups > 0, fmt.Sprintf("%d requests are sent before each step to warm up, and are in no figure", first.Warmups)},
		{first.Arrival == runlog.ArrivalBurst, "all requests are sent at once, as there is no finite --request-rate and no --max-concurrency"},
	} {
		if n.tell {
			notes = append(notes, n.text)
		}
	}
	return notes
}

// folderTime is the part of a folder's or file's name that says when.
const folderTime = "20060102-150405"

// folderSuffix ends the name of a run's folder, which begins with the time.
func folderSuffix(model string) string {
	return "-" + show.FileName(filepath.Base(model), "model")
}

// withoutSecrets is a command line without what may be a secret: the values of flags
// that run holds for one, and the queries of URLs.
func withoutSecrets(run *kingpin.CmdModel, args []string) []string {
	shown := slices.Clone(args)
	if len(shown) > 0 {
		shown[0] = filepath.Base(shown[0])
	}
	hide := false
	for i, a := range shown {
		name, _, assigned := strings.Cut(a, "=")
		secret := isSecret(flagOf(run, name))
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

// isSecret reports whether the value of a flag, nil for none, must not be repeated.
func isSecret(f *kingpin.FlagModel) bool {
	if f == nil {
		return false
	}
	v, ok := f.Value.(*flagValue)
	return ok && v.Secret
}
