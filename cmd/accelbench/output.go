package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// outputFlags say where a run's files go and what is shown meanwhile.
type outputFlags struct {
	folder           string
	saveResult       bool
	appendResult     bool
	resultDir        string // of vLLM's result files
	resultName       string
	metadata         map[string]string
	quiet            bool
	webAddress       string
	exporter, server string
	exporterHTTP     string // file with the HTTP client's configuration
}

func (o *outputFlags) register(c *kingpin.CmdClause) {
	c.Flag("save-result", "Also write vLLM's result file for each step.").BoolVar(&o.saveResult)
	c.Flag("result-dir", "Folder of vLLM's result files.").Default(".").StringVar(&o.resultDir)
	c.Flag("result-filename", "").Hidden().StringVar(&o.resultName)
	c.Flag("append-result", "").Hidden().BoolVar(&o.appendResult)
	o.metadata = map[string]string{}
	c.Flag("metadata", "").Hidden().StringMapVar(&o.metadata)
	o.registerRun(c)
}

// registerRun adds where a run is kept, what is shown while it goes, and what is sampled beside it.
func (o *outputFlags) registerRun(c *kingpin.CmdClause) {
	c.Flag("output", "Folder in which each run makes its own.").Default("results").StringVar(&o.folder)
	c.Flag("quiet", "Do not show progress.").BoolVar(&o.quiet)
	c.Flag("web.listen-address", "Serve the run's own metrics at this address.").PlaceHolder("ADDR").StringVar(&o.webAddress)
	registerExporter(c, "accelerator_exporter's metrics, for the cards.", &o.exporter, &o.exporterHTTP)
	c.Flag("server-metrics", "The server's metrics, or off. Default: /metrics.").PlaceHolder("URL").StringVar(&o.server)
}

// registerExporter adds where accelerator_exporter is, with help, and how to talk to it.
func registerExporter(c *kingpin.CmdClause, help string, url, httpConfig *string) {
	c.Flag("exporter", help).PlaceHolder("URL").StringVar(url)
	c.Flag("exporter-http-config", "As --http-config, for the exporter.").PlaceHolder("FILE").StringVar(httpConfig)
}

// renderFlags say how a report is shown.
type renderFlags struct {
	formats     []string // those that were asked for
	metrics     []string
	percentiles []float64 // those that were asked for
	goodput     []string
}

func (r *renderFlags) register(c *kingpin.CmdClause) {
	r.metrics = []string{"ttft", "tpot", "itl"}
	c.Flag("format", "What to print, a list of "+strings.Join(show.Formats, ", ")+".").PlaceHolder("F,…").SetValue(parsed(&r.formats, listOf(oneOf(show.Formats...))))
	metric := oneOf("ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue")
	c.Flag("percentile-metrics", "").Hidden().SetValue(parsed(&r.metrics, listOf(metric)))
	c.Flag("metric-percentiles", "Percentiles beside 50 and 90. Default: 99.").PlaceHolder("P,…").SetValue(parsed(&r.percentiles, listOf(parsePercentile)))
	c.Flag("goodput", "What a good request meets: ttft:500 tpot:50 itl:80 e2el:30000 (ms).").PlaceHolder("M:MS").StringsVar(&r.goodput)
}

// options are how a report is made.
func (r *renderFlags) options() (result.Options, error) {
	o := result.Options{Percentiles: r.percentiles}
	for _, text := range r.goodput {
		objective, err := openai.ParseObjective(text)
		if err != nil || objective.Percentile > 0 || !slices.Contains([]openai.Measure{"ttft", "tpot", "itl", "e2el"}, objective.Measure) {
			return o, fmt.Errorf("--goodput %s: give ttft, tpot, itl or e2el with its milliseconds, such as ttft:500", text)
		}
		o.Goodput = append(slices.DeleteFunc(o.Goodput, func(p openai.Objective) bool { return p.Measure == objective.Measure }), objective)
	}
	return o, nil
}
