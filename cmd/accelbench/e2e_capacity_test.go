//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// knownServer is a stand-in whose every decode step takes base and so much more for
// each request in its batch, and an objective for its TPOT.
type knownServer struct {
	base, perRequest, limit time.Duration
	carries                 float64 // users, or requests a second
	flags                   []string
}

const (
	tokens    = 4 // of a short answer
	precision = 0.05
)

// knownUsers is a server that carries so many users. They all start at once, so all are
// in each step of the batch, and the limit lies half a user above what they take.
func knownUsers(seed uint64) knownServer {
	users := 4 + rand.New(rand.NewPCG(seed, 1)).IntN(13)
	s := knownServer{base: 100 * time.Millisecond, perRequest: 20 * time.Millisecond, carries: float64(users)}
	s.limit = s.base + time.Duration(users)*s.perRequest + s.perRequest/2
	s.flags = []string{"--max-concurrency=1..64", "--ramp-up=0", "--ignore-eos", "--output-len=" + strconv.Itoa(tokens)}
	return s
}

// knownRates is a server that carries so many requests a second. By Little's law rate ×
// tokens × step of them are in the batch, so that a step takes base / (1 - perRequest ×
// rate × tokens).
func knownRates(seed uint64) knownServer {
	rate := 6 + 14*rand.New(rand.NewPCG(seed, 2)).Float64()
	s := knownServer{base: 100 * time.Millisecond, limit: 280 * time.Millisecond, carries: rate}
	s.perRequest = time.Duration((1 - float64(s.base)/float64(s.limit)) / (rate * tokens) * float64(time.Second))
	s.flags = []string{"--request-rate=2..64", "--burstiness=inf", "--duration=25s", "--ignore-eos", "--output-len=" + strconv.Itoa(tokens)}
	return s
}

// The stand-in's own machine at 20 times its speed, whose answers have 283 tokens on the mean and take 1 to 4 s.
const (
	longBase       = 59 * time.Millisecond / 20
	longPerRequest = 1840 * time.Microsecond / 20
	longTokens     = 283
)

// longUsers is a server of long answers that carries so many users.
func longUsers(seed uint64) knownServer {
	users := 10 + rand.New(rand.NewPCG(seed, 3)).IntN(21)
	s := knownServer{base: longBase, perRequest: longPerRequest, carries: float64(users)}
	s.limit = s.base + time.Duration(users)*s.perRequest + s.perRequest/2
	s.flags = []string{"--max-concurrency=1..64"}
	return s
}

// longRates is a server of long answers that carries so many requests a second, of Poisson arrivals. The search
// says itself how long its levels are.
func longRates(seed uint64) knownServer {
	rate := 10 + 10*rand.New(rand.NewPCG(seed, 4)).Float64()
	s := knownServer{base: longBase, perRequest: longPerRequest, carries: rate}
	s.limit = time.Duration(float64(s.base) / (1 - s.perRequest.Seconds()*rate*longTokens))
	s.flags = []string{"--request-rate=5..40"}
	return s
}

// searchRow is what became of one search.
type searchRow struct {
	knownServer
	answer float64
	runs   int // of levels
	took   time.Duration
	said   string
}

func (r searchRow) right() bool {
	allowed := precision * r.carries
	if r.carries == math.Trunc(r.carries) {
		allowed = max(allowed, 1) // a user
	}
	return math.Abs(r.answer-r.carries) <= allowed
}

// BenchmarkCapacity asks accelbench capacity for answers that are known, over HTTP; see
// make bench-capacity.
func BenchmarkCapacity(b *testing.B) {
	programs := newBench(b)
	for _, kind := range []struct {
		name  string
		seeds int // of searches, all at once
		known func(seed uint64) knownServer
	}{{"users", 20, knownUsers}, {"rates", 20, knownRates}, {"users of long answers", 4, longUsers}, {"rates of long answers", 2, longRates}} {
		b.Run(kind.name, func(b *testing.B) {
			for range b.N {
				rows := make([]searchRow, kind.seeds)
				var wg sync.WaitGroup
				for seed := range rows {
					s := kind.known(uint64(seed))
					url := programs.server(b, "--step-base="+s.base.String(), "--step-per-sequence="+s.perRequest.String(),
						"--prefill-rate=1e9", "--max-num-seqs=256")
					folder := b.TempDir()
					wg.Go(func() { rows[seed] = programs.find(s, url, folder, seed) })
				}
				wg.Wait()
				b.ReportMetric(0, "ns/op")
				if right := printSearches(os.Stdout, kind.name, rows); right < kind.seeds*9/10 {
					b.Errorf("%d of %d answers are within the precision, want %d", right, kind.seeds, kind.seeds*9/10)
				}
			}
		})
	}
}

// find searches once.
func (b *bench) find(s knownServer, url, folder string, seed int) searchRow {
	start := time.Now()
	cmd := exec.Command(b.path("accelbench"), append([]string{
		"capacity", "--backend=openai-chat", "--base-url=" + url, "--dataset-path=" + b.path("open_qa.jsonl"), "--output=" + folder, "--quiet",
		"--slo=tpot:p50<" + s.limit.String(),
		fmt.Sprintf("--precision=%g%%", 100*precision), "--seed=" + strconv.Itoa(seed),
	}, s.flags...)...)
	said, _ := cmd.CombinedOutput()
	row := searchRow{knownServer: s, took: time.Since(start), said: string(said)}
	var r struct {
		Capacity struct{ Value float64 }
		Steps    []struct{}
	}
	reports, _ := filepath.Glob(filepath.Join(folder, "*", "report.json"))
	if len(reports) == 1 {
		text, _ := os.ReadFile(reports[0])
		_ = json.Unmarshal(text, &r) // an answer of 0 is wrong
	}
	row.answer, row.runs = r.Capacity.Value, len(r.Steps)
	return row
}

// printSearches prints a table, and returns how many answers are right.
func printSearches(w io.Writer, name string, rows []searchRow) (right int) {
	load, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(load), " ")
	fmt.Fprintf(w, "\n%s: %d searches at once, %d cores, load average %s\n", name, len(rows), runtime.NumCPU(), average)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "seed\tcarries\tanswer\toff\truns\ttook\tright\t")
	worst := 0.0
	for seed, r := range rows {
		off := r.answer/r.carries - 1
		worst = max(worst, math.Abs(off))
		if r.right() {
			right++
		}
		fmt.Fprintf(t, "%d\t%.4g\t%.4g\t%+.1f %%\t%d\t%.0f s\t%t\t\n", seed, r.carries, r.answer, 100*off, r.runs, r.took.Seconds(), r.right())
	}
	_ = t.Flush()
	fmt.Fprintf(w, "%d of %d right, at most %.1f %% off\n", right, len(rows), 100*worst)
	for seed, r := range rows {
		if !r.right() {
			lines := strings.Split(strings.TrimSpace(r.said), "\n")
			fmt.Fprintf(w, "seed %d: %s\n", seed, lines[len(lines)-1])
		}
	}
	return right
}
