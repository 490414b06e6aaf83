//go:build e2e

package dist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// entry is a file of an archive.
type entry struct {
	header *tar.Header
	data   []byte
}

// readTarGzip reads the archive in a file, which must have no name and no time of its own.
func readTarGzip(t *testing.T, file string) map[string]entry {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if unzipped.Name != "" || !unzipped.ModTime.IsZero() {
		t.Errorf("%s: gzip holds the name %q and the time %s", filepath.Base(file), unzipped.Name, unzipped.ModTime)
	}
	return readTar(t, file, unzipped)
}

// readTar reads an archive whose entries must be in order, of root, of the
// commit's time, and for all to read and root to write.
func readTar(t *testing.T, file string, r io.Reader) map[string]entry {
	t.Helper()
	var names []string
	entries := map[string]entry{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatalf("%s: %s: %v", file, h.Name, err)
		}
		if mode := h.FileInfo().Mode(); h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != epoch ||
			(mode.IsRegular() && mode.Perm() != 0o644 && mode.Perm() != 0o755) || (mode.IsDir() && mode.Perm() != 0o755) {
			t.Errorf("%s: %s %s %d:%d %s", filepath.Base(file), h.Name, mode, h.Uid, h.Gid, h.ModTime.UTC().Format(time.RFC3339))
		}
		name := filepath.Clean(h.Name)
		names = append(names, name)
		entries[name] = entry{header: h, data: data}
	}
	// A folder comes before what is in it.
	if !slices.IsSortedFunc(names, func(a, b string) int { return bytes.Compare(folded(a), folded(b)) }) {
		t.Errorf("%s: entries are in no order: %q", filepath.Base(file), names)
	}
	return entries
}

// folded makes a name sort as a walk of its folders does.
func folded(name string) []byte {
	return bytes.ReplaceAll([]byte(name), []byte("/"), []byte{0})
}
