package main

import (
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// TestFlagsDocument fails when docs/flags.md lacks a flag, has one that is not
// there, or tells another default.
func TestFlagsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z.[\\]-]+)` \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = strings.Trim(row[2], "`")
	}
	want := map[string]string{}
	for _, f := range (&settings{probe: probe.DefaultSpec()}).commandLine().Model().Flags {
		name, byDefault := f.Name, strings.Join(f.Default, " ")
		switch {
		case f.Hidden:
			continue
		case !f.IsBoolFlag():
		case byDefault == "true":
			name, byDefault = "[no-]"+name, "on"
		default:
			name, byDefault = "[no-]"+name, "off"
		}
		said := documented[name]
		switch {
		case byDefault == "", // a default that is not a value is told in words
			strings.HasPrefix(said, "on if"),
			sameDuration(said, byDefault):
			byDefault = said
		}
		if said == "" {
			byDefault = "not documented: " + byDefault
		}
		want[name] = byDefault
	}
	if runtime.GOOS != "linux" { // the one flag that only Linux has
		delete(documented, "[no-]web.systemd-socket")
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("flags - docs/flags.md +\n%s", diff)
	}
}

func sameDuration(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return errX == nil && errY == nil && x == y
}
