package result

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// A request stands at the second at which it was sent, with what was seen of it alone.
func TestTimelineRequests(t *testing.T) {
	late := answered(2*time.Second, 50, 2, 300*time.Millisecond, time.Second)
	late.Trace.Planned, late.Queued = at(time.Second), 600*time.Millisecond
	late.Trace.Lag = openai.Lag{Reads: 2, Max: 7 * time.Millisecond, Last: time.Millisecond}
	requests := []runlog.Request{
		answered(0, 50, 2, 200*time.Millisecond, 500*time.Millisecond), late,
		failed(3*time.Second, 4*time.Second, openai.ReasonTimeoutFirstToken),
	}
	want := []Point{
		{Sent: 0, TTFT: 0.2, End: 0.5, Lag: Unknown()},
		{Sent: 2, TTFT: 0.3, End: 1, Late: 0.4, Queued: 0.6, Lag: 0.007},
		{Sent: 3, TTFT: Unknown(), End: 4, Lag: Unknown(), Failure: openai.ReasonTimeoutFirstToken},
	}
	got := stepOf(t, Options{}, newMemlog("a").step(closed(1, 3), requests, false)).Timeline
	equal(t, "requests", want, got.Requests, sameValues)
}

// Samples stand at their seconds of the step; a card that serves another endpoint is not drawn.
func TestTimelineTracks(t *testing.T) {
	s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
		for _, second := range []time.Duration{-1, 2, 6, 12} { // the first and the last are outside
			l.sample(0, second*time.Second, runlog.SourceServer, runlog.Series{Name: "vllm:num_requests_waiting", Value: float64(second)})
			l.sample(0, second*time.Second, runlog.SourceExporter,
				ofCard("1", "power_watts", 100+float64(second)), ofCard("1", "probe_target_device_info", 1, "target", "server:8000"),
				ofCard("2", "power_watts", 50), ofCard("2", "probe_target_device_info", 1, "target", "other:8000"))
		}
	}))
	tracks := map[string][]float64{}
	for _, track := range s.Timeline.Tracks {
		equal(t, track.Gauge, []float64{2, 6}, track.At)
		name := track.Gauge
		if track.Card != nil {
			name += " " + track.Card.Device
		}
		tracks[name] = track.Values
	}
	equal(t, "tracks", map[string][]float64{Waiting: {2, 6}, Watts + " 1": {102, 106}}, tracks)
}

// Of a gauge of a long step a part is kept to be drawn, and how large a part.
func TestSamplesAreThinned(t *testing.T) {
	samples := make(series, 2500)
	for i := range samples {
		samples[i].at = int64(i)
	}
	var timeline Timeline
	timeline.add(span{0, 2500}, Running, nil, samples)
	if n := len(timeline.Tracks[0].At); n != 834 || timeline.OneIn != 3 {
		t.Errorf("%d samples, one in %d", n, timeline.OneIn)
	}
}
