package show

import (
	"fmt"
	"io"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Head writes what was run, where and when, a line for each log: figures that are
// pasted somewhere should say whose they are.
func Head(w io.Writer, r *result.Report) error {
	var p page
	for i := range r.Runs {
		run := &r.Runs[i]
		text := fmt.Sprintf("%s at %s (%s), %s, from %s on %s, accelbench %s",
			run.Model, run.URL, run.API, datasetText(run), run.Host, run.Started.Format(time.DateTime), run.Version)
		if run.Side != "" {
			text += ", side " + run.Side
		}
		p.line("%s", words.Clean(text))
	}
	return p.writeTo(w)
}
