package result

import "github.com/accelerator-exporter/accelerator_exporter/bench/openai"

// Timeline is a step over time, in seconds since its first request was sent.
type Timeline struct {
	Requests []Point // that were sent, in the order of sending
	Tracks   []Track // of the server, then of the cards that serve
	OneIn    int     // of so many samples one is in Tracks
}

// Point is one request. Latencies are in seconds.
type Point struct {
	Sent    float64
	TTFT    Value
	End     Value         // E2E, or until it failed
	Late    Value         // how late the client itself sent it
	Queued  Value         // its wait under a bound on concurrency
	Lag     Value         // how late the client read what its kernel had received, at most
	Failure openai.Reason // empty of one that succeeded
}

// The gauges that a [Track] may be of.
const (
	Running     = "num_requests_running"
	Waiting     = "num_requests_waiting"
	Utilization = "accelerator_utilization_ratio"
	Watts       = "accelerator_power_watts"
)

// Track are the samples of a gauge inside a step, or every so many of them.
type Track struct {
	Gauge      string
	Card       *Card // nil of the server's
	At, Values []float64
}

// timeline is over a window, the whole step.
func (d *stepData) timeline(w span) Timeline {
	var t Timeline
	for i := range d.requests {
		q := &d.requests[i]
		p := Point{
			Sent: span{w.from, q.start}.seconds(), TTFT: latency(q.ttft), End: latency(q.e2e),
			Late: Value(q.late()-q.queued) / perSecond, Queued: Value(q.queued) / perSecond, Lag: latency(q.lag), Failure: q.failure,
		}
		if q.failure != "" || !p.End.Known() {
			p.End = Value(q.end-q.start) / perSecond
		}
		t.Requests = append(t.Requests, p)
	}
	for _, gauge := range []string{Running, Waiting} {
		t.add(w, gauge, nil, d.server.values[gauge])
	}
	serving := d.Serving()
	for _, gauge := range []string{Utilization, Watts} {
		for i, c := range serving {
			t.add(w, gauge, &serving[i], c.readings[gauge])
		}
	}
	return t
}

func (t *Timeline) add(w span, gauge string, of *Card, samples series) {
	track := Track{Gauge: gauge, Card: of}
	const most = 1000 // of a track: who draws it has to bear them
	t.OneIn = max(t.OneIn, 1+(len(samples)-1)/most)
	for i := 0; i < len(samples); i += t.OneIn {
		if p := samples[i]; w.holds(p.at) {
			track.At = append(track.At, span{w.from, p.at}.seconds())
			track.Values = append(track.Values, p.value)
		}
	}
	if track.At != nil {
		t.Tracks = append(t.Tracks, track)
	}
}

// latency is a sample in seconds, not known of one that a request does not have.
func latency(sample Value) Value {
	if sample < 0 {
		return Unknown()
	}
	return sample / perSecond
}
