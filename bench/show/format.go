// Package render writes a report as text and as files.
package show

import (
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Format is one form in which a report is printed.
type Format struct {
	Name  string // as --format has it
	Write func(io.Writer, *result.Report, VLLMOptions) error
}

// Formats are all there are. A row here is all that a new one
// takes.
func Formats() []Format {
	return []Format{
		{"head", whole(Head)},
		{"summary", whole(Summary)},
		{"capacity", whole(Capacity)},
		{"vllm", eachStep(VLLM)},
		{"evalscope", eachStep(func(w io.Writer, s *result.Step, _ VLLMOptions) error { return Evalscope(w, s) })},
		{"checks", eachStep(func(w io.Writer, s *result.Step, _ VLLMOptions) error { return Checks(w, s) })},
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

func whole(write func(io.Writer, *result.Report) error) func(io.Writer, *result.Report, VLLMOptions) error {
	return func(w io.Writer, r *result.Report, _ VLLMOptions) error { return write(w, r) }
}

func eachStep(write func(io.Writer, *result.Step, VLLMOptions) error) func(io.Writer, *result.Report, VLLMOptions) error {
	return func(w io.Writer, r *result.Report, o VLLMOptions) error {
		for i := range r.Steps {
			if err := write(w, &r.Steps[i], o); err != nil {
				return err
			}
		}
		return nil
	}
}
