package result

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// figuresOnly compares figures without how far they can be trusted.
var figuresOnly = cmp.Options{
	cmpopts.IgnoreFields(Percentile{}, "Error", "Independent"), cmpopts.IgnoreFields(Distribution{}, "MeanError"),
	cmpopts.EquateApprox(1e-9, 1e-9), sameValues,
}

var sameValues = cmp.Comparer(func(a, b Value) bool {
	return !a.Known() && !b.Known() || math.Abs(float64(a-b)) <= 1e-9*math.Abs(float64(a))
})

// noon is when the runs of the tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is an instant of a test, so long after noon.
func at(since time.Duration) time.Time { return noon.Add(since) }

// memlog is a log in memory.
type memlog struct {
	run     runlog.Run
	records []runlog.Record
}

func newMemlog(host string) *memlog {
	return &memlog{run: runlog.Run{
		Schema: runlog.Schema, ID: "id of " + host, Started: noon, Host: host, URL: "http://server:8000",
		API: openai.Chat, Model: "qwen2.5", Dataset: "openqa", GOMAXPROCS: 4,
	}}
}

// step adds a step with its requests, and its end unless the run is to have been
// killed.
func (l *memlog) step(s runlog.Step, requests []runlog.Request, killed bool) *memlog {
	l.begin(s, requests)
	if !killed {
		l.end(s, requests, runlog.StopRequests)
	}
	return l
}

func (l *memlog) begin(s runlog.Step, requests []runlog.Request) {
	l.records = append(l.records, runlog.Record{Step: &s})
	for _, r := range requests {
		r.Step = s.Index
		l.records = append(l.records, runlog.Record{Request: &r})
	}
}

func (l *memlog) end(s runlog.Step, requests []runlog.Request, stop runlog.Stop) {
	var a runlog.Account
	for i := range requests {
		a.Count(requests[i].Reason())
	}
	l.records = append(l.records, runlog.Record{StepEnd: &runlog.StepEnd{
		Step: s.Index, Stop: stop, Account: a,
		Dataset: runlog.DatasetCount{Prompts: a.Attempted},
	}})
}

func (l *memlog) sample(step int, since time.Duration, source runlog.Source, series ...runlog.Series) {
	l.records = append(l.records, runlog.Record{Sample: &runlog.Sample{Step: step, At: at(since), Source: source, Series: series}})
}

// ended adds the last line of a run that was not killed.
func (l *memlog) ended() *memlog {
	l.records = append(l.records, runlog.Record{RunEnd: &runlog.RunEnd{Stop: runlog.StopRequests}})
	return l
}

// stepOf is the first step of logs that are one load.
func stepOf(t testing.TB, opts Options, logs ...*memlog) Step {
	t.Helper()
	var all []runlog.Record
	for _, l := range logs {
		all = append(all, runlog.Record{Run: &l.run})
		all = append(all, l.records...)
	}
	r, err := NewReport(opts, all)
	noError(t, err)
	return r.Steps[0]
}

// reportOf is the report of logs that are kept on disk.
func reportOf(t testing.TB, opts Options, logs ...*memlog) (*Report, error) {
	t.Helper()
	folders := make([]string, len(logs))
	for i, l := range logs {
		folders[i] = l.write(t)
	}
	return Read(opts, folders...)
}

// write keeps a log on disk and returns its folder.
func (l *memlog) write(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), l.run.Host)
	w, err := runlog.Create(dir, l.run)
	noError(t, err)
	for _, r := range l.records {
		r.Rank = l.run.Rank
		noError(t, w.Write(r))
	}
	noError(t, w.Close())
	return dir
}

// answered is a request that was sent at an instant and whose chunks arrived so
// long after it.
func answered(start time.Duration, prompt, tokens int, chunks ...time.Duration) runlog.Request {
	t := openai.Trace{
		Planned: at(start), Started: at(start), Clock: openai.ClockKernel, Events: len(chunks) + 1, Reused: true, Status: 200,
		Usage: &openai.Usage{PromptTokens: prompt, CompletionTokens: tokens}, TokenSource: openai.TokensUsage, Done: true,
		FirstEvent: chunks[0], End: chunks[len(chunks)-1],
	}
	for _, c := range chunks {
		t.Chunks = append(t.Chunks, openai.Chunk{At: c})
	}
	return runlog.Request{Trace: t}
}

// failed is a request that failed so long after it was sent.
func failed(start, after time.Duration, reason openai.Reason) runlog.Request {
	return runlog.Request{Trace: openai.Trace{
		Planned: at(start), Started: at(start), Clock: openai.ClockUser, End: after,
		Failure: &openai.Failure{Reason: reason},
	}}
}

// closedLoop is what users that wait for their answers do: request i takes as
// long as answer says, and the next one is sent when it is over.
func closedLoop(users, n int, answer func(i int, start time.Duration) runlog.Request) []runlog.Request {
	free := make([]time.Duration, users)
	var all []runlog.Request
	for i := range n {
		user := 0
		for u := range free {
			if free[u] < free[user] {
				user = u
			}
		}
		r := answer(i, free[user])
		r.Seq = i
		free[user] += r.Trace.End
		all = append(all, r)
	}
	return all
}

func closed(users, n int) runlog.Step {
	return runlog.Step{Started: noon, Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: n}
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
