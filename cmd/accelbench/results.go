package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// report prints and writes all that a run's flags ask for.
func (s *runFlags) report(folder string, options result.Options, stdout, stderr io.Writer) error {
	r, err := result.Read(options, folder)
	if err != nil {
		return err
	}
	// Files first: whoever reads the output may have gone.
	if err := writeReport(folder, r, stderr); err != nil {
		return err
	}
	if s.out.saveEvalscope {
		if err := writeEvalscope(r, stderr); err != nil {
			return err
		}
	}
	if s.out.vllmResult() {
		if err := s.saveResults(r, stderr); err != nil {
			return err
		}
	}
	return s.render.print(stdout, r)
}

// writeEvalscope writes into the working directory what evalscope-perf leaves
// there: a summary for each number of users, and the picture of all.
func writeEvalscope(r *result.Report, stderr io.Writer) error {
	for i := range r.Steps {
		s := &r.Steps[i]
		name := show.EvalscopeFileName(r.Runs[0].Model, cmp.Or(r.Runs[0].DatasetPath, r.Runs[0].Dataset), s)
		if err := writeFile(name, func(w io.Writer) error { return show.Evalscope(w, s) }); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "accelbench: evalscope's summary is in %s\n", name)
	}
	return writeFile("performance_metrics.png", show.Overview(r).WritePNG)
}

// saveResults writes vLLM's result file of each step.
func (s *runFlags) saveResults(r *result.Report, stderr io.Writer) error {
	if s.out.resultDir != "" {
		if err := os.MkdirAll(s.out.resultDir, 0o755); err != nil {
			return err
		}
	}
	now := time.Now()
	for i := range r.Steps {
		step := &r.Steps[i]
		name := s.out.resultFile
		switch {
		case name == "":
			name = show.VLLMFileName(&r.Runs[0], step, now)
		case i > 0 && !s.out.addLine: // the next step must not replace the first one's
			ext := filepath.Ext(name)
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i+1, ext)
		}
		path := filepath.Join(s.out.resultDir, name)
		write := func(w io.Writer) error { return show.VLLMResult(w, r, step, s.render.vllm(r)) }
		save := writeFile
		if s.out.addLine {
			save = appendFile
		}
		if err := save(path, write); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "accelbench: vLLM's result is in %s\n", path)
	}
	return nil
}

// appendFile adds what write writes to a file.
func appendFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
