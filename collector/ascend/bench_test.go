package ascend_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// BenchmarkParseInfo reads eight 910B chips with processes. The aim is 50 MB/s on
// one core.
func BenchmarkParseInfo(b *testing.B) {
	out := printed(b)["910b-23.0"].info
	if !bytes.Contains(out, []byte("HBM-Usage")) || !bytes.Contains(out, []byte("4711")) {
		b.Fatal("not the layout with HBM, or without processes")
	}
	bench(b, out, ascend.ParseInfo)
}

// BenchmarkParseInfoHostile reads long output in which nothing fits. Twice the
// bytes should take twice the time: MB/s stays.
func BenchmarkParseInfoHostile(b *testing.B) {
	const head = "| NPU Name | Health | Power(W) Temp(C) |\n| Chip | Bus-Id | AICore(%) Memory-Usage(MB) |\n"
	const chip = "| 0 A | OK | 1 2 |\n| 0 | NA | 3 4/5 |\n"
	const process = "| NPU Chip | Process id | Process name | Process memory(MB) |\n"
	for _, c := range []struct {
		name, before string
		line         func(i int) string
	}{
		{"chips", "", func(i int) string { return fmt.Sprintf("| %d A | OK | 1 2 |\n| 0 | NA | 3 4/5 |\n", i) }},
		{"same chip", "", func(int) string { return chip }},
		{"first rows", "", func(i int) string { return fmt.Sprintf("| %d A | OK | 1 2 |\n", i) }},
		{"processes", process, func(i int) string { return fmt.Sprintf("| 0 0 | %d | a | 1 |\n", i) }},
		{"garbage", "", func(int) string { return "| ( / / / ) | ( | \n" }},
		{"headers", "", func(int) string { return head }},
		{"one cell", "", func(int) string { return strings.Repeat("A / ", 1<<10) }},
	} {
		for _, size := range []int{1 << 18, 1 << 19} {
			out := []byte(head + chip + c.before)
			for i := 1; len(out) < size; i++ {
				out = append(out, c.line(i)...)
			}
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, size>>10), func(b *testing.B) { bench(b, out, ascend.ParseInfo) })
		}
	}
}

func bench(b *testing.B, out []byte, parse modeltest.Parse) {
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse(out); err != nil {
			b.Fatal(err)
		}
	}
}
