package collector

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A reading whose labels do not fit its metric is one broken series: it must not take
// the program or the other series with it.
func TestUnfitSampleIsAnInvalidMetric(t *testing.T) {
	ch := make(chan prometheus.Metric, 3)
	e := emitter{series: newSeries(), ch: ch}
	e.put("devices", 8, "metax")
	e.put("devices", 8, "metax", "one too many")
	e.put("tool_info", 1, "metax", "mx\xff", "", "", "", "")
	for i, want := range []string{"", "devices: ", "tool_info: "} {
		err := (<-ch).Write(&dto.Metric{})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("sample %d: %v, want an error that begins %q", i, err, want)
		}
	}
}
