package transport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	full := write(t, filepath.Join(dir, "full"), strings.Repeat("k", 10))
	link := filepath.Join(dir, "link")
	if err := os.Symlink("full", link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		path  string
		limit int64
		want  string
		err   error
	}{
		"as large as it may be": {full, 10, "kkkkkkkkkk", nil},
		"a link, as Kubernetes": {link, 10, "kkkkkkkkkk", nil},
		"too large":             {full, 9, "", ErrTooLarge},
		"a folder":              {dir, 10, "", ErrNotRegular},
		"an endless device":     {"/dev/zero", 10, "", ErrNotRegular},
		"none":                  {filepath.Join(dir, "none"), 10, "", os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := new(Files).Read(t.Context(), tt.path, tt.limit)
			if text != tt.want || !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.path) {
				t.Errorf("%q, error %v", text, err)
			}
		})
	}
}

// A file on a mount that hangs holds nobody longer than the time for it, and none at all who
// comes later or leaves; one read waits for it, however many ask. When the mount is back, so is
// the file.
func TestFileThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		back := make(chan struct{})
		f := &Files{read: func(string, int64) (string, error) {
			reads.Add(1)
			<-back
			return "key", nil
		}}
		timed := func(ctx context.Context, err error, wait time.Duration) {
			t.Helper()
			began := time.Now()
			_, got := f.Read(ctx, "/mnt/key", 10)
			if took := time.Since(began); !errors.Is(got, err) || took != wait || !strings.Contains(got.Error(), "/mnt/key") {
				t.Errorf("error %v after %s, want %v after %s", got, took, err, wait)
			}
		}
		leaving, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		timed(leaving, context.DeadlineExceeded, time.Second)
		timed(t.Context(), ErrSlow, readTime-time.Second)
		timed(t.Context(), ErrSlow, 0)
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads wait for the file", n)
		}
		close(back)
		synctest.Wait()
		if text, err := f.Read(t.Context(), "/mnt/key", 10); text != "key" || err != nil {
			t.Errorf("when it is back: %q, %v", text, err)
		}
	})
}
