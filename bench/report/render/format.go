// Package render writes a report as text and as files.
package render

import (
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// Format is one form in which a report is printed.
type Format struct {
	Name  string // as --format has it
	Write func(io.Writer, *report.Report, VLLMOptions) error
}

// Formats are all there are. A row here is all that a new one
// takes.
func Formats() []Format {
	return []Format{
		{"head", whole(Head)},
		{"summary", whole(Summary)},
		{"capacity", whole(Capacity)},
		{"vllm", eachStep(VLLM)},
		{"evalscope", eachStep(func(w io.Writer, s *report.Step, _ VLLMOptions) error { return Evalscope(w, s) })},
		{"checks", eachStep(func(w io.Writer, s *report.Step, _ VLLMOptions) error { return Checks(w, s) })},
		{"table", whole(Table)},
		{"md", whole(Markdown)},
		{"json", whole(JSON)},
		{"csv", whole(CSV)},
	}
}

// FormatNames are the names of [Formats].
func FormatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return names
}

func whole(write func(io.Writer, *report.Report) error) func(io.Writer, *report.Report, VLLMOptions) error {
	return func(w io.Writer, r *report.Report, _ VLLMOptions) error { return write(w, r) }
}

func eachStep(write func(io.Writer, *report.Step, VLLMOptions) error) func(io.Writer, *report.Report, VLLMOptions) error {
	return func(w io.Writer, r *report.Report, o VLLMOptions) error {
		for i := range r.Steps {
			if err := write(w, &r.Steps[i], o); err != nil {
				return err
			}
		}
		return nil
	}
}
