package modeltest

import (
	"runtime"
	"strings"
	"testing"
)

// CheckLinear holds that reading twice the lines takes some twice the memory, which
// is counted in all, also what is free again: work that grows faster would show in it.
func CheckLinear(t testing.TB, head, line, tail string, parse Parse) {
	t.Helper()
	const size = 1 << 17
	text := func(n int) []byte { return []byte(head + strings.Repeat(line, n/len(line)) + tail) }
	work := func(out []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = parse(out)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	half, whole := work(text(size)), work(text(2*size))
	if whole > 3*half || whole > 100*2*size {
		t.Errorf("%.40q: %d KiB take %d KiB of memory in all, %d KiB take %d KiB", line, size>>10, half>>10, 2*size>>10, whole>>10)
	}
}
