package load

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
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

// describe fills in what the log says of this program and of its plan.
func describe(r *runlog.Run, steps []runlog.Step) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host's name: %w", err)
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	r.Schema, r.ID = runlog.Schema, hex.EncodeToString(id[:])
	r.Started, r.Host, r.GOMAXPROCS = time.Now(), host, runtime.GOMAXPROCS(0)
	r.Steps = nil
	for _, s := range steps {
		r.Steps = append(r.Steps, s.Name())
	}
	return nil
}

// makeFolder makes a new folder of that name, or with the first free number after
// it: two runs may begin in one second.
func makeFolder(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("making the folder of the results: %w", err)
	}
	folder := path
	for n := 2; ; n++ {
		if err := os.Mkdir(folder, 0o755); !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
		folder = fmt.Sprintf("%s-%d", path, n)
	}
}
