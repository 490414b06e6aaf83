package fakevllm

import (
	"flag"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const exposition = "testdata/metrics.golden"

// TestExposition serves two requests; the times they took are left out.
func TestExposition(t *testing.T) {
	s, hs := serve(t, quick())
	for range 2 {
		post(t, hs.URL+"/v1/completions", `{"prompt":"`+strings.Repeat("word ", 40)+`","max_tokens":10,"ignore_eos":true,"stream":true}`)
	}
	all := expositiontest.Gather(t, s.engine.met.registry)
	for name, f := range all {
		for _, m := range f.GetMetric() {
			if m.Histogram != nil && strings.HasSuffix(name, "_seconds") {
				expositiontest.Empty(m.Histogram)
			}
		}
	}
	expositiontest.Compare(t, exposition, all, *update)
}

func TestExpositionIsComplete(t *testing.T) {
	s, _ := serve(t, quick())
	all := func(string) bool { return false }
	if n := expositiontest.Complete(t, exposition, s.engine.met.registry, all); n < 20 {
		t.Errorf("only %d metrics are described", n)
	}
}
