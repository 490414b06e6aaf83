// Package gunzip decompresses a response, with bounds on what decompressing may cost.
package gunzip

import (
	"compress/gzip"
	"fmt"
	"io"
)

const (
	// maxIdle is how many compressed bytes may bring nothing: empty members and blocks
	// are valid, and can go on without end. A window that is read before it gives its
	// first byte takes some 64 KiB at most.
	maxIdle = 256 << 10
	// maxRatio is how many compressed bytes there may be to one that they bring, beside
	// those. What is flushed after each event is smaller than the events themselves.
	maxRatio = 2
	// maxBytes is how many compressed bytes there may be in all.
	maxBytes = 64 << 20
)

// reader decompresses, and weighs what goes in against what comes out.
type reader struct {
	zip *gzip.Reader
	in  input
}

// NewReader returns a reader of what r holds compressed. It reads byte by byte, and so
// never waits for more than the next byte that it gives needs. It fails where the bytes
// are no gzip, and where they bring too little.
func NewReader(r io.Reader) (io.Reader, error) {
	z := &reader{in: input{r: r}}
	var err error
	z.zip, err = gzip.NewReader(&z.in)
	return z, err
}

// Read implements [io.Reader].
func (z *reader) Read(p []byte) (int, error) {
	n, err := z.zip.Read(p)
	z.in.out += int64(n)
	return n, err
}

// input are the compressed bytes.
type input struct {
	r       io.Reader
	b       [1]byte
	in, out int64 // bytes so far
}

// Read implements [io.Reader].
func (i *input) Read(p []byte) (int, error) {
	switch {
	case i.in > maxBytes:
		return 0, fmt.Errorf("more than %d MiB of gzip", maxBytes>>20)
	case i.in > maxIdle+maxRatio*i.out:
		return 0, fmt.Errorf("%d bytes of gzip hold no more than %d", i.in, i.out)
	}
	n, err := i.r.Read(p)
	i.in += int64(n)
	return n, err
}

// ReadByte implements [io.ByteReader]: gzip reads from such a reader what it needs alone.
func (i *input) ReadByte() (byte, error) {
	_, err := io.ReadFull(i, i.b[:])
	return i.b[0], err
}
