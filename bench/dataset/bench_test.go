package dataset

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkOpenQA reads 100 MB to their end once a round. held-KB is the most
// that lived on the heap meanwhile: it stays where it is however long the file.
func BenchmarkOpenQA(b *testing.B) {
	const size = 100 << 20
	b.Run("lines", func(b *testing.B) { readLarge(b, size, "", "\n", "") })
	b.Run("array", func(b *testing.B) { readLarge(b, size, "[", ",\n", "{}]") })
}

func readLarge(b *testing.B, size int, begin, between, end string) {
	path, prompts := largeFile(b, size, begin, between, end)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	before := heap()
	most := before
	for b.Loop() {
		s := open(b, Config{Kind: OpenQA, Path: path, RunID: "bench"})
		for i := range prompts {
			if _, err := s.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
			if i%(prompts/8) == 0 {
				b.StopTimer()
				most = max(most, heap())
				b.StartTimer()
			}
		}
		s.Close()
	}
	b.ReportMetric(float64(most-before)/1e3, "held-KB")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*prompts), "ns/prompt")
}

// heap is what lives on the heap, garbage not counted.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// largeFile writes records like those of HC3, with answers nobody asks for.
func largeFile(b *testing.B, size int, begin, between, end string) (path string, prompts int) {
	path = filepath.Join(b.TempDir(), "open_qa.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	_, _ = w.WriteString(begin) // its error is kept for Flush
	answer := strings.Repeat("一个比较长的回答。An answer of some length. ", 20)
	for n := 0; n < size; prompts++ {
		k, err := fmt.Fprintf(w, `{"question":"问题 %d: why?","human_answers":[%q],"chatgpt_answers":[%q]}%s`, prompts, answer, answer, between)
		if err != nil {
			b.Fatal(err)
		}
		n += k
	}
	_, _ = w.WriteString(end)
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return path, prompts
}

// BenchmarkRandomTokens makes prompts of 1024 token ids.
func BenchmarkRandomTokens(b *testing.B) {
	s := open(b, Config{Kind: Random, API: "completions", RunID: "bench"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
