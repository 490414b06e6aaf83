package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
)

// files are those that the HTTP client reads, at its making and at each request.
func (s Spec) files() []transport.File {
	all := transport.Named(&s.HTTP)
	for i := range all {
		all[i].Field = "http." + all[i].Field
	}
	return all
}

// Files reads files that may hang. A program has one: while a read hangs, no other of the
// same file is started. The zero value is ready.
type Files = transport.Files

// CheckFiles returns which files that the target's requests need cannot be read now,
// or hold nothing where a credential is to be. It takes 5 s for a file that hangs, and
// no longer than ctx.
func (t Target) CheckFiles(ctx context.Context, read *Files) Mistakes {
	var all Mistakes
	for _, f := range t.spec.files() {
		text, err := read.Read(ctx, f.Path, f.Limit)
		if err == nil && strings.TrimSpace(text) == "" {
			err = fmt.Errorf("%s is empty: write the key into it, and nothing else", f.Path)
		}
		if err != nil {
			all = append(all, Mistake{Field: f.Field, Text: err.Error()})
		}
	}
	return all
}

// unfitFiles are the files with which no request could be sent: what is there and is
// none, and what the client needs to be made and hangs. What is not there yet may come.
func (s Spec) unfitFiles(ctx context.Context, read *Files) Mistakes {
	var all Mistakes
	for _, f := range s.files() {
		_, err := read.Read(ctx, f.Path, f.Limit)
		if errors.Is(err, transport.ErrNotRegular) || f.TLS && (errors.Is(err, transport.ErrSlow) || ctx.Err() != nil) {
			all = append(all, Mistake{Field: f.Field, Text: err.Error()})
		}
	}
	return all
}
