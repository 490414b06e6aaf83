package probe

import (
	"context"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Single is what one probe outside any schedule showed.
type Single struct {
	Outcome
	// Trace is nil when the model could not be learned, or when the client could
	// not be made.
	Trace *openai.Trace
	// Missed are the target's objectives, and whether the request missed them.
	Missed map[string]bool
}

// Once sends one request to a target, and asks for the model first where none is
// configured. It counts nothing.
func Once(ctx context.Context, t Target) Single {
	c, err := t.client()
	if err != nil {
		return Single{Outcome: unlearned(t, &openai.Failure{Reason: openai.ReasonConnect, Detail: err.Error(), Unsent: true})}
	}
	defer c.CloseIdleConnections()
	model := t.spec.Model
	if model == "" {
		learning, cancel := context.WithTimeout(ctx, time.Duration(t.spec.Timeout))
		defer cancel()
		models, failure := c.Models(learning)
		if failure != nil {
			return Single{Outcome: unlearned(t, failure)}
		}
		model = models[0]
	}
	trace := c.Stream(ctx, t.request(model, time.Now()))
	return Single{Outcome: outcomeOf(t, trace), Trace: trace, Missed: t.missed(trace)}
}
