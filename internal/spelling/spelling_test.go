package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"concurrency", "max-concurrency", "requests", "url", "n"}
	for name, want := range map[string]string{
		"concurency":   "concurrency", // a letter too few
		"concurrencyy": "concurrency",
		"reqeusts":     "requests", // two swapped
		"uri":          "url",
		"temperature":  "",
		"":             "n", // one letter away
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
