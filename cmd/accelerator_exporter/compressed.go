package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// fastGzip makes a page a fifth longer and takes a third of the usual time, which is most
// of what a scrape of many cards costs.
func fastGzip() *gzip.Writer {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // a constant that gzip does not know
	}
	return w
}

// takesGzip reports whether the client asks for gzip.
func takesGzip(r *http.Request) bool {
	for offer := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(offer, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// compressed is a response that is compressed unless it is an error.
type compressed struct {
	http.ResponseWriter
	gzip    *gzip.Writer
	isError bool
	begun   bool
}

// WriteHeader implements http.ResponseWriter.
func (c *compressed) WriteHeader(status int) {
	c.isError = status != http.StatusOK
	c.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (c *compressed) Write(text []byte) (int, error) {
	if c.isError {
		return c.ResponseWriter.Write(text)
	}
	if !c.begun {
		c.begun = true
		c.Header().Set("Content-Encoding", "gzip")
		c.gzip.Reset(c.ResponseWriter)
	}
	return c.gzip.Write(text)
}

// close writes what is left. The page is held in memory, which takes all.
func (c *compressed) close() {
	if c.begun {
		_ = c.gzip.Close()
		c.gzip.Reset(io.Discard) // a page is not kept for the next one
	}
}
