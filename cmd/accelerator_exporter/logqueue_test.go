package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
)

// reader is one of the log that takes lines while it is not stopped.
type reader struct {
	logBuffer
	stopped chan struct{} // has one while it is
}

func newReader() *reader { return &reader{stopped: make(chan struct{}, 1)} }

func (r *reader) stop() { r.stopped <- struct{}{} }

func (r *reader) goOn() { <-r.stopped }

func (r *reader) Write(line []byte) (int, error) {
	r.stop()
	defer r.goOn()
	return r.logBuffer.Write(line)
}

// Lines that find no room are dropped, counted, and told of where they would have been;
// the others are written whole and in order.
func TestLogOfASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := newReader()
		q := newLogQueue(to, 6, func(n int) { fmt.Fprintf(to, "%d dropped\n", n) })
		write := func(lines ...string) {
			for _, line := range lines {
				if n, err := io.WriteString(q, line+"\n"); n != len(line)+1 || err != nil {
					t.Errorf("writing %q: %d, %v", line, n, err)
				}
			}
			synctest.Wait()
		}
		write("1")
		to.stop()
		write("2") // is being written
		write("3", "4", "5", "6", "7")
		to.goOn()
		synctest.Wait()
		write("8")
		write("too long")
		write("9")
		to.stop()
		write("10")
		write("too long", "11") // the second had room, and would come before what tells of the first
		to.goOn()
		q.close(0)
		synctest.Wait()
		want := "1 2 3 4 5 2 dropped 8 1 dropped 9 10 2 dropped"
		if diff := cmp.Diff(want, strings.Join(strings.Fields(to.String()), " ")); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		var m dto.Metric
		if err := q.dropped.Write(&m); err != nil || m.GetCounter().GetValue() != 5 {
			t.Errorf("%v dropped, %v", m.GetCounter().GetValue(), err)
		}
	})
}

// The end waits for a reader, and not without end.
func TestLogAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		stops, want time.Duration
	}{
		"all read":     {0, 0},
		"read late":    {time.Second / 2, time.Second / 2},
		"read no more": {time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read, write := io.Pipe()
				var log logBuffer
				go func() {
					time.Sleep(c.stops)
					_, _ = io.Copy(&log, read)
				}()
				q := newLogQueue(write, 1000, nil)
				for range 100 {
					io.WriteString(q, "line\n")
				}
				begin := time.Now()
				q.close(time.Second)
				if took := time.Since(begin); took != c.want {
					t.Errorf("after %s", took)
				}
				synctest.Wait()
				if n := len(log.String()); c.stops < time.Hour && n != 500 {
					t.Errorf("%d bytes were written", n)
				}
				time.Sleep(2 * time.Hour)
				write.Close()
			})
		})
	}
}

// A reader of the log that stops reading, as a terminal does at Ctrl-S, stops neither a
// scrape, nor a reload, nor the end.
func TestLogReaderThatStops(t *testing.T) {
	log := newReader()
	p := startWith(t, log, &log.logBuffer, "--no-collector.metax", "--no-collector.ascend", "--web.enable-lifecycle")
	log.stop()
	defer log.goOn()
	for range 3 {
		if status, _ := fetch(t, http.MethodPost, p.url+"/-/reload"); status != http.StatusOK { // logs a line
			t.Errorf("reload: %d", status)
		}
		if status, _ := p.get(t, "/metrics"); status != http.StatusOK {
			t.Errorf("scrape: %d", status)
		}
	}
	if status := p.end(t); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
