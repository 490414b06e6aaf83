package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const (
	// modelsTimeout bounds the question for the list of models: a server under load may
	// take its time, one that hangs is still worth measuring.
	modelsTimeout = 10 * time.Second
	readyPause    = 500 * time.Millisecond // between questions to a server that starts
)

// checkModels asks the endpoint for its models: for the one to use where none is
// named, and otherwise whether the named one is served. A list that cannot be
// had is no reason to stop where the completions may work.
func (s *Session) checkModels(ctx context.Context) error {
	url, model := s.cfg.Run.URL, s.cfg.Run.Model
	models, failure := s.models(ctx)
	at := slices.IndexFunc(models, func(m openai.Model) bool { return model == "" || m.ID == model })
	switch {
	case failure == nil && at < 0:
		return fmt.Errorf("the endpoint does not serve the model %q; it serves %s", model, names(models))
	case failure == nil:
		s.cfg.Run.Model, s.modelLength = models[at].ID, models[at].MaxLength
	case failure.Reason.Unreached():
		return fmt.Errorf("asking %s for its models: %w", url, failure)
	case model == "":
		return fmt.Errorf("asking %s for its models: %w; name one with --model", url, failure)
	default:
		s.note("the endpoint's list of models could not be had (%v), so whether it serves %q is not known", failure, model)
	}
	return nil
}

// names are those of models, as far as a line of text holds them.
func names(models []openai.Model) string {
	var all []string
	for _, m := range models {
		all = append(all, m.ID)
	}
	return openai.Excerpt(strings.Join(all, ", "))
}

// models asks for the list, again and again for as long as the configuration has
// patience with an endpoint that is not there yet.
func (s *Session) models(ctx context.Context) ([]openai.Model, *openai.Failure) {
	until := time.Now().Add(s.cfg.Ready)
	for {
		asking, cancel := context.WithTimeout(ctx, modelsTimeout)
		models, failure := s.client.Models(asking)
		cancel()
		if failure == nil || ctx.Err() != nil || !time.Now().Before(until) {
			return models, failure
		}
		sleepUntil(ctx, time.Now().Add(readyPause))
	}
}
