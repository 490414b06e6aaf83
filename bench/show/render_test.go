package show_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var allMetrics = []string{"ttft", "tpot", "itl", "e2el", "client_queue_time", "e2el_including_client_queue"}

// renderings are the forms of a report and of its steps, by file name.
func renderings(r *result.Report) map[string]func(io.Writer) error {
	searched := searchedSweep()
	searched.Steps = searched.Steps[2:5]
	printed := func(format string, r *result.Report) func(io.Writer) error {
		return func(w io.Writer) error { return show.Print(w, format, r, allMetrics) }
	}
	all := map[string]func(io.Writer) error{
		"head.txt": printed("head", r), "summary.txt": printed("summary", r), "report.json": printed("json", r),
		"capacity.txt": printed("summary", searched),
	}
	for i, name := range []string{"closed", "open", "nothing"} {
		step := &result.Report{Steps: r.Steps[i : i+1]}
		for _, format := range []string{"vllm", "evalscope", "checks"} {
			all[format+"-"+name+".txt"] = printed(format, step)
		}
		all["result-"+name+".json"] = func(w io.Writer) error { return show.VLLMResult(w, r, &r.Steps[i], allMetrics) }
	}
	return all
}

func rendered(t *testing.T, render func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	noError(t, render(&b))
	return b.String()
}

// Each golden file is what a user gets: look at its diff before keeping it.
func TestRenderings(t *testing.T) {
	all := renderings(sweep())
	for name, render := range all {
		expositiontest.Golden(t, filepath.Join("testdata", "render", name), rendered(t, render), *update)
	}
	files, err := os.ReadDir(filepath.Join("testdata", "render"))
	noError(t, err)
	for _, f := range files {
		if all[f.Name()] == nil {
			t.Errorf("no rendering is called %s", f.Name())
		}
	}
}

// Each format of --format has something of its own to say, and a full disk does not look
// like a report.
func TestFormats(t *testing.T) {
	seen := map[string]string{}
	for _, name := range show.Formats {
		text := rendered(t, func(w io.Writer) error { return show.Print(w, name, sweep(), nil) })
		if other, taken := seen[text]; taken || text == "" {
			t.Errorf("%s prints %d bytes, the same as %s", name, len(text), other)
		}
		seen[text] = name
	}
	for name, render := range renderings(sweep()) {
		if err := render(full{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }
