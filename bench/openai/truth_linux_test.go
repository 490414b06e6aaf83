package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

// rampGap lies between the starts of two streams: 5,000 connections at once
// would show what connecting costs.
const rampGap = 2 * time.Millisecond

// truthCase is a load whose every chunk's instant is known.
type truthCase struct {
	streams  int
	gap      time.Duration
	rounds   int // requests a stream, one after the other
	tokens   int // a request
	userTime bool
	burst    bool // all streams start at once
}

func (c truthCase) start() string {
	if c.burst {
		return "at once"
	}
	return rampGap.String() + " apart"
}

func (c truthCase) clock() Clock {
	if c.userTime {
		return ClockUser
	}
	return ClockKernel
}

// truthRow is what became of it.
type truthRow struct {
	truthCase
	chunks, lost     int
	joined           int             // gaps lost in one read, each above 1 ms
	ttft, itl, lags  []time.Duration // errors without sign, and lags; sorted
	beyond           []time.Duration // of the TTFT, what lies outside of the time that the server's write took
	elapsed, cpu     time.Duration
	load             string
	failed, misClock int
}

// BenchmarkTruth compares what the client reports with what the server, another
// process, knows: when it wrote each chunk. It prints a table; see make bench-truth.
func BenchmarkTruth(b *testing.B) {
	const gap = 20 * time.Millisecond
	var rows []*truthRow
	for _, c := range []truthCase{
		{streams: 64, gap: gap, rounds: 4, tokens: 128},
		{streams: 64, gap: gap, rounds: 4, tokens: 128, userTime: true},
		{streams: 256, gap: gap, rounds: 4, tokens: 128},
		{streams: 256, gap: gap, rounds: 4, tokens: 128, userTime: true},
		{streams: 512, gap: gap, rounds: 4, tokens: 128},
		{streams: 512, gap: gap, rounds: 4, tokens: 128, userTime: true},
		{streams: 5000, gap: 500 * time.Millisecond, rounds: 1, tokens: 50},
		{streams: 512, gap: gap, rounds: 1, tokens: 128, burst: true},
		{streams: 1000, gap: 50 * time.Millisecond, rounds: 1, tokens: 128, burst: true},
		{streams: 2000, gap: 100 * time.Millisecond, rounds: 1, tokens: 64, burst: true},
	} {
		b.Run(fmt.Sprintf("streams=%d/gap=%v/start=%s/clock=%s", c.streams, c.gap, c.start(), c.clock()), func(b *testing.B) {
			for range b.N {
				row := c.run(b)
				rows = append(rows, row)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(row.cpu.Microseconds())/float64(max(1, row.chunks)), "cpu-µs/chunk")
			}
		})
	}
	printTruth(os.Stdout, rows)
}

// run sends the requests and compares.
func (c truthCase) run(b *testing.B) *truthRow {
	base := startPace(b, c.gap)
	client, err := NewClient(Config{BaseURL: base, KeepAlive: true})
	noError(b, err)
	defer client.CloseIdleConnections()
	if c.userTime {
		client.dialer = new(net.Dialer).DialContext // nobody asks for stamps
	}
	row := &truthRow{truthCase: c}
	traces := make([]*Trace, c.streams*c.rounds)
	cpu, start := cpuTime(), time.Now()
	var wg sync.WaitGroup
	for i := range c.streams {
		if !c.burst {
			time.Sleep(time.Until(start.Add(time.Duration(i) * rampGap)))
		}
		wg.Go(func() {
			for j := range c.rounds {
				traces[i*c.rounds+j] = client.Stream(b.Context(), Request{Model: "pace", Prompt: "go", MaxTokens: c.tokens, MaxCompletionTokens: true, Timeout: 5 * time.Minute, IdleTimeout: 30 * time.Second})
			}
		})
	}
	wg.Wait()
	row.elapsed, row.cpu = time.Since(start), cpuTime()-cpu
	load, _ := os.ReadFile("/proc/loadavg")
	row.load, _, _ = strings.Cut(string(load), " ")
	row.compare(traces, readTruth(b, base))
	return row
}

func (row *truthRow) compare(traces []*Trace, truth map[string]answer) {
	for _, t := range traces {
		want := truth[t.RequestID].Chunks
		row.chunks += len(t.Chunks)
		if t.Failure != nil || want == nil {
			row.failed++
			continue
		}
		if t.Clock != row.clock() {
			row.misClock++
		}
		row.lags = append(row.lags, t.Lag.Last)
		if len(t.Chunks) != len(want) {
			row.lost += max(len(want)-len(t.Chunks), len(t.Chunks)-len(want))
			continue
		}
		ttft, _ := TTFT(t)
		first := t.Started.Add(ttft).UnixNano()
		row.ttft = append(row.ttft, time.Duration(first-want[0].Before).Abs())
		row.beyond = append(row.beyond, time.Duration(max(want[0].Before-first, first-want[0].After, 0)))
		for i, itl := range ITLs(t) {
			truth := time.Duration(want[i+1].Before - want[i].Before)
			if itl == 0 && truth > time.Millisecond {
				row.joined++
			}
			row.itl = append(row.itl, (itl - truth).Abs())
		}
	}
	for _, s := range [][]time.Duration{row.ttft, row.beyond, row.itl, row.lags} {
		slices.Sort(s)
	}
}

// paceGap holds the gap of the server that this program is to be.
const paceGap = "TRUTH_PACE_GAP"

// TestPaceProcess is the server, in a process of its own until its standard
// input ends. It tells its address on standard output.
func TestPaceProcess(t *testing.T) {
	gap, err := time.ParseDuration(os.Getenv(paceGap))
	if err != nil {
		t.Skip("for BenchmarkTruth")
	}
	debug.SetGCPercent(-1) // a server that collects garbage writes late, behind its own stamps
	web := httptest.NewServer(&paced{first: gap, spread: gap, gap: gap, truth: map[string]answer{}})
	defer web.Close()
	fmt.Println("address", web.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	web.CloseClientConnections()
}

// startPace starts the server and returns its base URL.
func startPace(b *testing.B, gap time.Duration) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestPaceProcess$")
	cmd.Env = append(os.Environ(), paceGap+"="+gap.String())
	stdin, err := cmd.StdinPipe()
	noError(b, err)
	stdout, err := cmd.StdoutPipe()
	noError(b, err)
	noError(b, cmd.Start())
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	var address string
	if _, err := fmt.Fscanf(stdout, "address %s\n", &address); err != nil {
		b.Fatalf("starting the server: %v", err)
	}
	return address
}

// paced writes one chunk a gap to every stream, on a schedule fixed when the request comes.
type paced struct {
	first, spread time.Duration // to the first chunk, and by how much that may differ
	gap           time.Duration
	streams       atomic.Uint64 // until now
	look          func()        // is called when the first request has come and when an answer has gone, nil for nothing

	mu    sync.Mutex
	truth map[string]answer // by request
}

// answer is when a request came and when each of its chunks was written, in Unix nanoseconds.
type answer struct {
	Came   int64
	Chunks []struct{ Before, After int64 }
}

func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/truth" {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = json.NewEncoder(w).Encode(p.truth)
		return
	}
	n := p.streams.Add(1)
	id := cmp.Or(r.Header.Get("X-Request-Id"), fmt.Sprint(n))
	if p.look != nil {
		if n == 1 {
			p.look()
		}
		defer p.look()
	}
	_, part := math.Modf(float64(n) * math.Phi) // spreads those that start together
	came := time.Now()
	due := came.Add(p.first + time.Duration(part*float64(p.spread)))
	var asked struct {
		Tokens int `json:"max_completion_tokens"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	w.Header().Set("Content-Type", "text/event-stream")
	a := answer{came.UnixNano(), make([]struct{ Before, After int64 }, asked.Tokens)}
	word, finish := id+" ", "null"
	for i := range a.Chunks {
		if i == asked.Tokens-1 {
			finish = `"length"` // with the last token, as vLLM does
		}
		time.Sleep(time.Until(due.Add(time.Duration(i) * p.gap)))
		a.Chunks[i].Before = time.Now().UnixNano()
		_, _ = fmt.Fprintf(w, `data: {"id":"chatcmpl-pace","object":"chat.completion.chunk","created":1700000000,"model":"pace","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", word, finish)
		_ = http.NewResponseController(w).Flush()
		a.Chunks[i].After = time.Now().UnixNano()
		word = "word "
	}
	p.mu.Lock() // before the end, so that a client that saw it can ask
	p.truth[id] = a
	p.mu.Unlock()
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func readTruth(b *testing.B, base string) (all map[string]answer) {
	resp, err := http.Get(base + "/truth")
	noError(b, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	noError(b, json.NewDecoder(resp.Body).Decode(&all))
	return all
}

// cpuTime is what this process used, in user space and in the kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func printTruth(w io.Writer, rows []*truthRow) {
	fmt.Fprintf(w, "\n%d cores, %s\n", runtime.NumCPU(), runtime.Version())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\t\t\t\t\tTTFT error\t\tbeyond the write\tITL error\t\tclient lag\t\tCPU a\tlost\tjoined\tfailed\tload\t")
	fmt.Fprintln(t, "streams\tgap\tstart\tclock\tchunks/s\tp50\tp99\tp99\tp50\tp99\tp50\tp99\tchunk\tchunks\tgaps\trequests\taverage\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%d\t%v\t%s\t%s\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f µs\t%d\t%d\t%d\t%s\t\n",
			r.streams, r.gap, r.start(), r.clock(), float64(r.chunks)/r.elapsed.Seconds(),
			microseconds(r.ttft, 0.5), microseconds(r.ttft, 0.99), microseconds(r.beyond, 0.99), microseconds(r.itl, 0.5), microseconds(r.itl, 0.99),
			microseconds(r.lags, 0.5), microseconds(r.lags, 0.99),
			float64(r.cpu.Nanoseconds())/1e3/float64(max(1, r.chunks)), r.lost, r.joined, r.failed, r.load)
		if r.misClock > 0 {
			fmt.Fprintf(t, "%d of these requests had another clock\n", r.misClock)
		}
	}
	_ = t.Flush()
}

// microseconds is a quantile of sorted durations, by the nearest rank.
func microseconds(sorted []time.Duration, q float64) string {
	if len(sorted) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f µs", float64(sorted[int(q*float64(len(sorted)-1)+0.5)])/1e3)
}
