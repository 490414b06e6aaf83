package metax_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// BenchmarkParseTable reads eight cards of the newest layout with processes. The
// aim is 50 MB/s on one core.
func BenchmarkParseTable(b *testing.B) {
	tables, _, _ := printed(b)
	out := tables[4]
	if !bytes.Contains(out, []byte("Persist-M")) || !bytes.Contains(out, []byte("4711")) {
		b.Fatal("not the newest layout, or without processes")
	}
	bench(b, out, metax.ParseTable)
}

// BenchmarkParseTableHostile reads output as long as the cap lets through, in which
// nothing fits. Twice the bytes should take twice the time: MB/s stays.
func BenchmarkParseTableHostile(b *testing.B) {
	const head = "| GPU NAME | Bus-id | GPU-Util |\n| Temp Pwr:Usage/Cap | Memory-Usage | GPU-State |\n"
	const sliced = "| Minor GPU sGPU-Id Compute | Vram Quota | sGPU-Util |\n"
	const process = "| GPU PID Process Name GPU Memory |\n| Usage(MiB) |\n"
	for _, c := range []struct {
		name, before string
		line         func(i int) string
	}{
		{"cards", "", func(i int) string { return fmt.Sprintf("| %d A | NA | 1%% |\n| 1C 2W / 3W | 4/5 MiB | OK |\n", i) }},
		{"same card", "", func(int) string { return "| 0 A | NA | 1% |\n| 1C 2W / 3W | 4/5 MiB | OK |\n" }},
		{"first rows", "", func(i int) string { return fmt.Sprintf("| %d A | NA | 1%% |\n", i) }},
		{"slices", sliced, func(i int) string { return fmt.Sprintf("| 1 0 %d 1%% | 1/2 MiB | 3%% |\n", i) }},
		{"processes", process, func(i int) string { return fmt.Sprintf("| 0 %d a 1 |\n", i) }},
		{"garbage", "", func(int) string { return "| ( / / / ) | ( | \n" }},
		{"headers", "", func(int) string { return head }},
	} {
		for _, size := range []int{1 << 18, 1 << 19} {
			out := []byte(head + "| 0 A | NA | 1% |\n| 1C 2W / 3W | 4/5 MiB | OK |\n+---+\n" + c.before)
			for i := 1; len(out) < size; i++ {
				out = append(out, c.line(i)...)
			}
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, size>>10), func(b *testing.B) { bench(b, out, metax.ParseTable) })
		}
	}
	for _, size := range []int{1 << 18, 1 << 19} {
		out := []byte(head + "| 0 " + strings.Repeat("A / ", size/4) + " | NA | 1% |\n| 1C 2W / 3W | 4/5 MiB | OK |\n")
		b.Run(fmt.Sprintf("one cell/%dKiB", size>>10), func(b *testing.B) { bench(b, out, metax.ParseTable) })
	}
}

func bench(b *testing.B, out []byte, p modeltest.Parse) {
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p(out); err != nil {
			b.Fatal(err)
		}
	}
}
