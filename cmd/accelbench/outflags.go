package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// outputFlags say where a run's files go and what is shown meanwhile.
type outputFlags struct {
	folder                string
	saveEvalscope         bool
	saveResult, addLine   bool
	resultDir, resultFile string
	metadata              map[string]string
	quiet                 bool
	webAddress, webConfig string
	exporter, server      string
	exporterHTTP          httpFlags
}

func (o *outputFlags) register(c flagSet) {
	o.registerFolder(c)
	c.Flag("save-evalscope", "Also write evalscope-perf's files into the working directory: a summary for each step, and performance_metrics.png.").BoolVar(&o.saveEvalscope)
	c.Flag("save-result", "Also write vLLM's result file for each step.").BoolVar(&o.saveResult)
	c.Flag("append-result", "Also write vLLM's result file, each result as a line at its end.").BoolVar(&o.addLine)
	bind(c.Flag("result-dir", "Folder of vLLM's result file."), filename(&o.resultDir))
	c.Flag("result-filename", "Name of vLLM's result file.").StringVar(&o.resultFile)
	o.registerSources(c)
}

// registerFolder adds where a run is kept, and what is kept with it.
func (o *outputFlags) registerFolder(c flagSet) {
	bind(c.Flag("output", "Folder in which each run creates its own.").Default("results"), filename(&o.folder))
	bind(c.Flag("metadata", "KEY=VALUE to keep with the result; repeatable."), pairs(&o.metadata))
}

// registerSources adds what is shown while a run goes, and sampled beside it.
func (o *outputFlags) registerSources(c flagSet) {
	c.Flag("quiet", "Do not show progress.").Short('q').BoolVar(&o.quiet)
	c.Flag("web.listen-address", "Address to serve the run's own metrics at while it runs, such as 127.0.0.1:10069.").StringVar(&o.webAddress)
	bind(c.Flag("web.config.file", "File with TLS and basic auth for that address."), filename(&o.webConfig))
	c.Flag("exporter", "URL of accelerator_exporter's metrics, to sample the cards: http://127.0.0.1:10068/metrics.").StringVar(&o.exporter)
	o.exporterHTTP.registerExporter(c)
	c.Flag("server-metrics", "URL of the model server's own metrics, off for none. Default: /metrics beside the endpoint, if it is there.").
		StringVar(&o.server)
}

// vllmResult reports whether vLLM's result file is asked for.
func (o *outputFlags) vllmResult() bool { return o.saveResult || o.addLine }

// formatNone prints nothing.
const formatNone = "none"

// defaultFormats are printed where no format is asked for.
func defaultFormats() []string { return []string{"head", "summary"} }

// capacityFormats are those of a run that searched for the capacity.
func capacityFormats() []string { return []string{"head", "capacity"} }

// renderFlags say how a report is shown.
type renderFlags struct {
	formats     []string // those that were asked for
	metrics     []string
	percentiles []float64 // those that were asked for
	goodput     []string
}

func (r *renderFlags) register(c flagSet, formats string) {
	r.registerFormat(c, formats)
	r.metrics = []string{"ttft", "tpot", "itl"}
	metrics := []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"}
	bind(c.Flag("percentile-metrics", "Latencies in vLLM's block, a list of: "+strings.Join(metrics, ", ")+". Default: ttft,tpot,itl."), choices(&r.metrics, metrics...))
	bind(c.Flag("metric-percentiles", "Percentiles in vLLM's block and, beside 50 and 90, in the tables. Default: 99; of report: those of the run."), percentiles(&r.percentiles))
	c.Flag("goodput", "What a good request meets, in milliseconds: ttft:500 tpot:50 itl:80 e2el:30000. Default of report: what the run had.").StringsVar(&r.goodput)
}

// registerFormat adds what is printed.
func (r *renderFlags) registerFormat(c flagSet, formats string) {
	all := append(show.FormatNames(), formatNone)
	bind(c.Flag("format", "What to print, a list of: "+strings.Join(all, ", ")+". Default: "+formats+"."), choices(&r.formats, all...))
}

// options are what a report must hold for all formats: evalscope's percentiles
// among them.
func (r *renderFlags) options() (result.Options, error) {
	o := result.Options{Percentiles: []float64{50, 66, 75, 80, 90, 95, 98, 99}, Chosen: r.percentiles}
	for _, g := range r.goodput {
		if err := addObjective(&o.Goodput, g); err != nil {
			return o, fmt.Errorf("--goodput %s: %w", g, err)
		}
	}
	return o, nil
}

// inHead keeps in a run's head what a report of it is to hold, so that one that is
// made again holds it too.
func inHead(run *runlog.Run, o result.Options) {
	if len(o.Chosen) > 0 {
		run.Percentiles = o.Chosen
	}
	if o.Goodput.Any() {
		run.Objectives = new(runlog.Objectives(o.Goodput))
	}
}

func addObjective(o *result.Objectives, text string) error {
	name, limit, _ := strings.Cut(text, ":")
	field, ok := map[string]*time.Duration{"ttft": &o.TTFT, "tpot": &o.TPOT, "itl": &o.ITL, "e2el": &o.E2E}[name]
	if !ok {
		return fmt.Errorf("no objective is called %q (known: ttft, tpot, itl, e2el)", name)
	}
	d, err := time.ParseDuration(limit + "ms")
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no number of milliseconds above 0", limit)
	}
	*field = d
	return nil
}
