package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

type outputFlags struct {
	saveResult, appendResult bool
	resultDir, resultName    string // of vLLM's result files
	quiet                    bool
	webAddress               string
	exporterHTTP             string // file with the HTTP client's configuration
}

func (o *outputFlags) register(c *kingpin.CmdClause, cfg *load.Config) {
	c.Flag("save-result", "Also write vLLM's result file for each step.").BoolVar(&o.saveResult)
	c.Flag("result-dir", "Folder of vLLM's result files.").Default(".").StringVar(&o.resultDir)
	c.Flag("result-filename", "").Hidden().StringVar(&o.resultName)
	c.Flag("append-result", "").Hidden().BoolVar(&o.appendResult)
	cfg.Run.Metadata = map[string]string{}
	c.Flag("metadata", "").Hidden().StringMapVar(&cfg.Run.Metadata)
	o.registerRun(c, cfg)
}

// registerRun adds where a run is kept, what is shown while it goes, and what is sampled beside it.
func (o *outputFlags) registerRun(c *kingpin.CmdClause, cfg *load.Config) {
	c.Flag("output", "Folder in which each run makes its own.").Default("results").StringVar(&cfg.Folder)
	c.Flag("quiet", "Do not show progress.").BoolVar(&o.quiet)
	c.Flag("web.listen-address", "Serve the run's own metrics at this address.").PlaceHolder("ADDR").StringVar(&o.webAddress)
	registerExporter(c, "accelerator_exporter's metrics, for the cards.", &cfg.Metrics.Exporter, &o.exporterHTTP)
	c.Flag("server-metrics", "The server's metrics, or off. Default: /metrics.").PlaceHolder("URL").StringVar(&cfg.Metrics.Server)
}

// registerExporter adds where accelerator_exporter is, with help, and how to talk to it.
func registerExporter(c *kingpin.CmdClause, help string, url, httpConfig *string) {
	c.Flag("exporter", help).PlaceHolder("URL").StringVar(url)
	c.Flag("exporter-http-config", "As --http-config, for the exporter.").PlaceHolder("FILE").StringVar(httpConfig)
}

type renderFlags struct {
	formats []string
	metrics []string
	options result.Options
}

func (r *renderFlags) register(c *kingpin.CmdClause) {
	r.formats = []string{"head", "summary"}
	r.metrics = []string{"ttft", "tpot", "itl"}
	c.Flag("format", "What to print, a list of "+strings.Join(show.Formats, ", ")+".").PlaceHolder("F,…").SetValue(parsed(&r.formats, listOf(oneOf(show.Formats...))))
	metric := oneOf("ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue")
	c.Flag("percentile-metrics", "").Hidden().SetValue(parsed(&r.metrics, listOf(metric)))
	c.Flag("metric-percentiles", "Percentiles beside 50 and 90. Default: 99.").PlaceHolder("P,…").SetValue(parsed(&r.options.Percentiles, listOf(parsePercentile)))
	c.Flag("goodput", "What a good request meets: ttft:500 tpot:50 itl:80 e2el:30000 (ms).").PlaceHolder("M:MS").SetValue(parsedFlag(func(text string) error {
		o, err := openai.ParseObjective(text)
		if err != nil || o.Percentile > 0 || !slices.Contains([]openai.Measure{"ttft", "tpot", "itl", "e2el"}, o.Measure) {
			return fmt.Errorf("%q is none of ttft, tpot, itl and e2el with its milliseconds, such as ttft:500", text)
		}
		isSame := func(p openai.Objective) bool { return p.Measure == o.Measure } // whose place it takes
		r.options.Goodput = append(slices.DeleteFunc(r.options.Goodput, isSame), o)
		return nil
	}))
}

func (p *program) addReport() {
	c := p.Command("report", "Report again from the traces that runs kept. Several folders are taken for one load from several machines.")
	var folders []string
	var output string
	c.Arg("FOLDER", "Folder of a run.").Required().StringsVar(&folders)
	c.Flag("output", "Folder for the report's files. Default: FOLDER, where only one is given.").PlaceHolder("DIR").StringVar(&output)
	render := new(renderFlags)
	render.register(c)
	p.commands[c.Model().Name] = func(context.Context) (int, error) {
		defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is kept of a log is long-lived, and has no pointers
		r, err := result.Read(render.options, folders...)
		if err != nil {
			return exitNothing, err
		}
		if output == "" && len(folders) == 1 {
			output = folders[0]
			if info, err := os.Stat(output); err == nil && !info.IsDir() { // a log itself
				output = filepath.Dir(output)
			}
		}
		if output != "" {
			if err := writeReport(output, r, p.stderr); err != nil {
				return exitNothing, err
			}
		}
		return exitMeasured, render.print(p.stdout, r)
	}
}

func (r *renderFlags) print(w io.Writer, report *result.Report) error {
	for _, name := range r.formats {
		if err := show.Print(w, name, report, r.metrics); err != nil {
			return fmt.Errorf("printing the report: %w", err)
		}
	}
	return nil
}

// writeReport writes every form of r into folder.
func writeReport(folder string, r *result.Report, stderr io.Writer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the report's folder: %w", err)
	}
	files := map[string]func(io.Writer) error{
		"report.json":    func(w io.Writer) error { return show.JSON(w, r) },
		"report.html":    func(w io.Writer) error { return show.Page(w, r) },
		show.PictureName: func(w io.Writer) error { return show.Picture(w, r) },
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(folder, name), false, write); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "accelbench: the report is in %s\n", folder)
	return nil
}

// writeFile makes a file of what write writes, or appends that to it.
func writeFile(path string, appends bool, write func(io.Writer) error) error {
	mode := os.O_TRUNC
	if appends {
		mode = os.O_APPEND
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
