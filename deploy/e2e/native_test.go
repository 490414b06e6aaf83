//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// nativeHistograms compares the quantiles of native histograms with those of the classic
// ones of the same samples: they must lie in the same bucket.
func (f *fleet) nativeHistograms(t *testing.T) {
	for _, name := range []string{"time_to_first_token", "time_per_output_token", "inter_token_latency", "request_duration"} {
		metric := "accelerator_probe_" + name + "_seconds"
		of := fmt.Sprintf("{instance=%q}", f.hosts["omega"].exporter)
		for _, q := range []string{"0.5", "0.9"} {
			both := fmt.Sprintf(`label_replace(histogram_quantile(%[1]s, sum by (le) (rate(%[2]s_bucket%[3]s[1m]))), "kind", "classic", "", "")
				or label_replace(histogram_quantile(%[1]s, sum(rate(%[2]s%[3]s[1m]))), "kind", "native", "", "")`, q, metric, of)
			all, err := f.instant(both)
			if err != nil || len(all) != 2 {
				t.Errorf("%s: %d results, want a classic and a native one: %v", metric, len(all), err)
				continue
			}
			values := map[string]float64{}
			for _, s := range all {
				values[s.Metric["kind"]] = s.number(t)
			}
			lower, upper := f.bucket(t, metric, values["classic"])
			t.Logf("%s %s: classic %.4g s, native %.4g s, bucket %g to %g s", metric, q, values["classic"], values["native"], lower, upper)
			const step = 1.1 // between two boundaries of the native one
			if native := values["native"]; !(native >= lower/step && native <= upper*step) {
				t.Errorf("%s: the native quantile %s is %v, the classic one %v, in the bucket %v to %v", metric, q, native, values["classic"], lower, upper)
			}
		}
	}
}

// bucket is the classic bucket that a value is in.
func (f *fleet) bucket(t *testing.T, metric string, value float64) (lower, upper float64) {
	t.Helper()
	all, err := f.instant("count by (le) (" + metric + "_bucket)")
	if err != nil {
		t.Fatal(err)
	}
	var bounds []float64
	for _, s := range all {
		le, err := strconv.ParseFloat(s.Metric["le"], 64)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, le)
	}
	slices.Sort(bounds)
	for _, upper := range bounds {
		if value <= upper {
			return lower, upper
		}
		lower = upper
	}
	t.Fatalf("%v is in no bucket of %s", value, metric)
	return 0, 0
}

// number is the value of an instant query's series.
func (s series) number(t *testing.T) float64 {
	t.Helper()
	text, _ := s.Value[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%v: %v", s.Metric, err)
	}
	return v
}
