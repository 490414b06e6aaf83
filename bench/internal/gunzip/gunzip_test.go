package gunzip

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// endless repeats its text after a start, and counts what is read of it; it ends beyond
// all bounds, so that a test that fails ends too.
type endless struct {
	start, again []byte
	read         int64
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) && e.read < 2*maxBytes {
		from := e.again
		at := e.read - int64(len(e.start))
		if at < 0 {
			from, at = e.start, e.read
		}
		copied := copy(p[n:], from[at%int64(len(from)):])
		n, e.read = n+copied, e.read+int64(copied)
	}
	if n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

func zipped(text string, level int) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.Bytes()
}

// A server cannot keep this program busy with compressed bytes that bring nothing, or hardly
// anything: they end soon, and all compressed bytes end some time.
func TestEndless(t *testing.T) {
	empty := zipped("", gzip.DefaultCompression)
	noise := make([]byte, 60<<10)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(noise)
	tests := map[string]struct {
		in   endless
		most int64 // bytes that may be read
		says string
	}{
		"empty members":         {endless{again: empty}, maxIdle + 512, "of gzip hold no more than 0"},
		"empty blocks":          {endless{start: empty[:10], again: []byte{0, 0, 0, 0xff, 0xff}}, maxIdle + 512, "of gzip hold no more than 0"},
		"members of one byte":   {endless{again: zipped("a", 9)}, 2 * maxIdle, "of gzip hold no more than"},
		"long names of members": {endless{again: append([]byte{31, 139, 8, 8, 0, 0, 0, 0, 0, 255}, append(bytes.Repeat([]byte("n"), 500), append([]byte{0}, empty[10:]...)...)...)}, maxIdle + 512, "hold no more than 0"},
		"what brings something": {endless{again: zipped(string(noise), gzip.NoCompression)}, maxBytes + 64<<10, "more than 64 MiB of gzip"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// As a body is read, which has its bytes one by one where one is asked for.
			z, err := NewReader(&tt.in)
			if err == nil {
				_, err = io.Copy(io.Discard, z)
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if tt.in.read > tt.most {
				t.Errorf("%d compressed bytes were read, want at most %d", tt.in.read, tt.most)
			}
		})
	}
}

// What servers send is read whole, also what does not get smaller.
func TestWhole(t *testing.T) {
	noise := make([]byte, 4<<20)
	r := rand.NewChaCha8([32]byte{2})
	_, _ = r.Read(noise)
	flushed := func(text string, times int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range times {
			_, _ = io.WriteString(z, text)
			_ = z.Flush()
		}
		_ = z.Close()
		return b.Bytes()
	}
	for name, tt := range map[string]struct{ in, want []byte }{
		"zeros":                     {zipped(strings.Repeat("\x00", 8<<20), 9), make([]byte, 8<<20)},
		"noise":                     {zipped(string(noise), gzip.BestSpeed), noise},
		"noise as symbols":          {zipped(string(noise), gzip.HuffmanOnly), noise},
		"several members":           {append(zipped("a", 1), zipped("b", 1)...), []byte("ab")},
		"nothing":                   {zipped("", 1), nil},
		"an hour of short comments": {flushed(": ping\n\n", 3600), []byte(strings.Repeat(": ping\n\n", 3600))},
	} {
		t.Run(name, func(t *testing.T) {
			z, err := NewReader(bytes.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, tt.want) {
				t.Errorf("%d bytes of %d, error %v", len(got), len(tt.want), err)
			}
		})
	}
	for _, bad := range []string{"", "not gzip at all"} {
		if _, err := NewReader(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is gzip", bad)
		}
	}
}

// What attackers make expensive: the time for a member that holds nothing.
func BenchmarkEmptyMembers(b *testing.B) {
	empty := zipped("", gzip.DefaultCompression)
	for b.Loop() {
		in := &endless{again: empty}
		if z, err := NewReader(in); err == nil {
			_, _ = io.Copy(io.Discard, z)
		}
		b.SetBytes(in.read)
	}
}
