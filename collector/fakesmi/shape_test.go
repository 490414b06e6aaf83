package fakesmi_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// captured is the text of a real tool, which stands beside the repository or not at all.
func captured(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../shared/captures", name))
	if os.IsNotExist(err) {
		t.Skip("no captures beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A parser made after the captures would read the stand-in otherwise: a key, its place,
// its padding, a unit or a blank that is not the tool's.
func TestMetaXPrintsAsTheToolDoes(t *testing.T) {
	summary := func(l fakesmi.MetaXLayout, b *bytes.Buffer, cards []fakesmi.MetaXCard, at time.Time) error {
		return l.PrintSummary(b, cards, at)
	}
	flags := func(flags ...string) func(fakesmi.MetaXLayout, *bytes.Buffer, []fakesmi.MetaXCard, time.Time) error {
		return func(l fakesmi.MetaXLayout, b *bytes.Buffer, cards []fakesmi.MetaXCard, at time.Time) error {
			return l.PrintFlags(b, flags, cards, at)
		}
	}
	for name, c := range map[string]struct {
		cards int
		print func(fakesmi.MetaXLayout, *bytes.Buffer, []fakesmi.MetaXCard, time.Time) error
	}{
		"summary-2.2.12-mxc500-sgpu25.txt":             {1, summary},
		"count-ecc-2.2.12-mxc500-sgpu25.txt":           {1, flags("--count-ecc")},
		"count-ecc-derived-errors-x2.txt":              {2, flags("--count-ecc")},
		"show-ecc-state-2.2.12-mxc500-sgpu25.txt":      {1, flags("--show-ecc-state")},
		"show-clk-tr-2.2.12-mxc500-sgpu25.txt":         {1, flags("--show-clk-tr")},
		"show-pcie-2.2.12-mxc500-sgpu25.txt":           {1, flags("--show-pcie")},
		"show-pcie-bandwidth-2.2.12-mxc500-sgpu25.txt": {1, flags("--show-pcie-bandwidth")},
		"show-hbm-bandwidth-2.2.12-mxc500-sgpu25.txt":  {1, flags("--show-hbm-bandwidth")},
	} {
		t.Run(name, func(t *testing.T) {
			want := captured(t, filepath.Join("mx-smi", name))
			layout := fakesmi.MetaXLayouts()[4]
			var b bytes.Buffer
			idle := fakesmi.MetaXMachine("2.2.9", fakesmi.Load{})
			cards := fakesmi.MetaXCards(idle, nil, lived(idle.Devices, nil, time.Hour))
			if err := c.print(layout, &b, cards[:c.cards], time.Unix(0, 0)); err != nil {
				t.Fatal(err)
			}
			sameShape(t, want, b.String(), alignedShape)
		})
	}
}

func TestMetaXJSONIsAsTheTools(t *testing.T) {
	want := captured(t, "mx-smi/json-2.2.12-mxc500-sgpu25.txt")
	layout := fakesmi.MetaXLayouts()[4]
	machine := fakesmi.MetaXMachine("2.2.9", fakesmi.Load{})
	cards := metaXDetails(t, "", time.Hour)[7:]
	cards[0].Slices = cards[0].Slices[:1]
	var b bytes.Buffer
	if err := layout.PrintJSON(&b, machine.Tool, cards, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	sameShape(t, want, b.String(), jsonShape)
}

func TestAscendPrintsAsTheToolDoes(t *testing.T) {
	for _, c := range []struct {
		capture, layout, kind, chip string
		change                      func([]fakesmi.AscendCard)
		before                      string // what the capture's author cut off
	}{
		{capture: "usages-23.0.5-910a.txt", layout: "910a-21.0.3", kind: "usages"},
		{capture: "usages-910.txt", layout: "910a-21.0.3", kind: "usages"},
		{capture: "usages-23.0.rc2-910b1.txt", layout: "910b-23.0", kind: "usages"},
		{capture: "usages-950.txt", layout: "950-25.6", kind: "usages"},
		{capture: "usages-310p-duo.txt", layout: "310p-25.5", kind: "usages", change: twoDies},
		{capture: "common-23.0.rc2-910b1-mcu.txt", layout: "910b-23.0", kind: "common"},
		{capture: "common-910-mcu.txt", layout: "910a-21.0.3", kind: "common"},
		{capture: "common-310p-duo-mcu.txt", layout: "310p-25.5", kind: "common", change: twoDies},
		{capture: "common-950.txt", layout: "950-25.6", kind: "common"},
		{capture: "temp-950.txt", layout: "950-25.6", kind: "temp"},
		{capture: "temp-25.5.1-910b-mcu.txt", layout: "910b-23.0", kind: "temp", before: "NPU ID                         : 0\nChip Count                     : 1\n\n"},
		{capture: "volt-950.txt", layout: "950-25.6", kind: "volt"},
		{capture: "volt-a3-src-2dies-na.txt", layout: "a3-26.0", kind: "volt", change: func(cards []fakesmi.AscendCard) { cards[1].Volts = math.NaN() }},
		{capture: "memory-950.txt", layout: "950-25.6", kind: "memory"},
		{capture: "memory-chip-25.5.1-910b3.txt", layout: "910b-23.0", kind: "memory", chip: "0"},
		{capture: "ecc-310p-src-errors.txt", layout: "310p-25.5", kind: "ecc"},
		{capture: "ecc-910a.txt", layout: "910a-21.0.3", kind: "ecc"},
		{capture: "ecc-910b-src-errors.txt", layout: "910b-23.0", kind: "ecc"},
		{capture: "ecc-a3-src-2dies-underflow.txt", layout: "a3-25.2", kind: "ecc"},
		{capture: "ecc-950.txt", layout: "950-25.6", kind: "ecc"},
		{capture: "ecc-enable-950.txt", layout: "950-25.6", kind: "ecc-enable"},
		{capture: "board-950.txt", layout: "950-25.6", kind: "board"},
		{capture: "board-card-23.0.5-910a.txt", layout: "910a-21.0.3", kind: "board"},
		{capture: "board-card-25.5.1-910b.txt", layout: "910b-23.0", kind: "board"},
		{capture: "board-chip-23.0.5-910a.txt", layout: "910a-21.0.3", kind: "board", chip: "0"},
		{capture: "board-chip-310p.txt", layout: "310p-25.5", kind: "board", chip: "0"},
		{capture: "health-950.txt", layout: "950-25.6", kind: "health"},
		{capture: "health-chip-23.0.5-910a-ok.txt", layout: "910a-21.0.3", kind: "health", chip: "0"},
		{capture: "health-chip-23.0.7-910a-alarm.txt", layout: "910b-23.0", kind: "health", chip: "0", change: func(cards []fakesmi.AscendCard) {
			cards[0].Health, cards[0].ErrorCodes = "Alarm", []string{"A4025021", "8C03A000", "8C084E00"}
		}},
		{capture: "hccs-910b-src-7links.txt", layout: "910b-23.0", kind: "hccs", chip: "0"},
		{capture: "sensors-310p-src.txt", layout: "310p-25.5", kind: "sensors", chip: "0"},
		{capture: "sensors-910b-src.txt", layout: "910b-23.0", kind: "sensors", chip: "0"},
		{capture: "sensors-950.txt", layout: "950-25.6", kind: "sensors"},
		{capture: "pcie-err-910b-src.txt", layout: "910b-23.0", kind: "pcie-err", chip: "0"},
		{capture: "pcie-err-950-errors.txt", layout: "950-25.6", kind: "pcie-err"},
		{capture: "sio-info-950.txt", layout: "950-25.6", kind: "sio-info"},
		{capture: "error-src-must-input-chip.txt", layout: "910b-23.0", kind: "hccs"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			want := c.before + captured(t, filepath.Join("npu-smi", c.capture))
			layout, cards := ascendDetails(t, c.layout, "", time.Hour)
			if c.change != nil {
				c.change(cards)
			}
			got := layout.Query(fakesmi.AscendQuery{Type: c.kind, NPU: "0", Chip: c.chip}, cards)
			sameShape(t, want, got.Text, keyShape)
			for line := range strings.Lines(got.Text) {
				if strings.Contains(line, " : ") && line[0] != '\t' {
					t.Errorf("no tab before %q", line)
				}
			}
		})
	}
}

// twoDies makes one card of the first two.
func twoDies(cards []fakesmi.AscendCard) {
	cards[0].Dies, cards[1].NPU, cards[1].Chip = 2, "0", "1"
}

func TestWatchIsAsTheTools(t *testing.T) {
	for capture, c := range map[string]struct{ layout, letters string }{
		"watch-23.x-910b-npu2.txt": {"910b-23.0", ""},
		"watch-950x8.txt":          {"950-25.6", ""},
		"watch-950-s-pt.txt":       {"950-25.6", "pt"},
	} {
		t.Run(capture, func(t *testing.T) {
			want := captured(t, filepath.Join("npu-smi", capture))
			layout, cards := ascendDetails(t, c.layout, "", time.Hour)
			got := layout.WatchHeader(c.letters)
			for i := range cards {
				got += layout.WatchLine(c.letters, &cards[i])
			}
			sameShape(t, want, got, columnShape)
		})
	}
}

func TestNetworkToolPrintsAsTheToolDoes(t *testing.T) {
	down := func(cards []fakesmi.AscendCard) {
		p := &cards[0].Ports[0]
		p.Up, p.Mbps = false, math.NaN()
	}
	for _, c := range []struct {
		capture, layout, command, port string
		change                         func([]fakesmi.AscendCard)
	}{
		{capture: "link-up-doc.txt", layout: "910b-23.0", command: "link"},
		{capture: "link-950-down-doc.txt", layout: "950-25.6", command: "link", port: "4", change: down},
		{capture: "stat-910b-src-48keys.txt", layout: "910b-23.0", command: "stat"},
		{capture: "stat-950-ub-doc.txt", layout: "950-25.6", command: "stat", port: "4"},
		{capture: "speed-910b-src.txt", layout: "910b-23.0", command: "speed"},
		{capture: "speed-910b-src-unknown.txt", layout: "910b-23.0", command: "speed", change: down},
		{capture: "speed-950-doc.txt", layout: "950-25.6", command: "speed", port: "4"},
		{capture: "link_stat-910b-src-down-count.txt", layout: "910b-23.0", command: "link_stat"},
		{capture: "link_stat-910a-up-fixture.txt", layout: "910a-21.0.3", command: "link_stat"},
		{capture: "link_stat-950-doc.txt", layout: "950-25.6", command: "link_stat", port: "4"},
		{capture: "net_health-success-doc.txt", layout: "910b-23.0", command: "net_health"},
		{capture: "optical-910b-src-present.txt", layout: "910b-23.0", command: "optical"},
		{capture: "optical-910b-src-not-present.txt", layout: "910b-23.0", command: "optical", change: func(cards []fakesmi.AscendCard) { cards[0].Ports[0].Optical.Present = false }},
		{capture: "dev_info-950-doc.txt", layout: "950-25.6", command: "dev_info"},
		{capture: "error-src-not-supported.txt", layout: "310p-25.5", command: "link"},
		{capture: "error-src-optical-not-present.txt", layout: "950-25.6", command: "optical", port: "4"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			want := captured(t, filepath.Join("hccn_tool", c.capture))
			layout, cards := ascendDetails(t, c.layout, "", time.Hour)
			if c.change != nil {
				c.change(cards)
			}
			q := fakesmi.NetworkQuery{Command: c.command, Device: "0", Port: c.port}
			if c.port != "" {
				q.UDie = "0"
			}
			sameShape(t, want, layout.Network(q, cards, time.Unix(1e9, 0)).Text, networkShape)
		})
	}
}

func sameShape(t *testing.T, want, got string, shape func(string) string) {
	t.Helper()
	lines := func(text string) []string {
		var all []string
		for line := range strings.Lines(text) {
			all = append(all, shape(strings.TrimSuffix(line, "\n")))
		}
		return slices.Compact(all) // as many rows of one kind as there are
	}
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
		t.Errorf("shape captured (-) and printed (+):\n%s\n%s", diff, got)
	}
}

var (
	clock    = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}`)
	numbers  = regexp.MustCompile(`\d+`)
	aligned  = regexp.MustCompile(`[ \d]+\.\d+`)
	quantity = regexp.MustCompile(`^ *[\d.]+( [A-Za-z%/]+)? *$`)
)

// value hides a value, but for its unit, its decimals and the blanks behind it.
func value(text string) string {
	if !quantity.MatchString(text) || strings.Count(text, ".") > 1 {
		return "TEXT" + text[len(strings.TrimRight(text, " ")):]
	}
	whole, decimals, _ := strings.Cut(strings.TrimLeft(text, " "), ".")
	return numbers.ReplaceAllString(whole, "9") + regexp.MustCompile(`\d`).ReplaceAllString(decimals, "9")
}

// alignedShape is that of a line of mx-smi, whose decimals stand below each other.
func alignedShape(line string) string {
	line = regexp.MustCompile(`sensor\d`).ReplaceAllString(clock.ReplaceAllString(line, "TIME"), "sensorN")
	key, text, ok := strings.Cut(line, ": ")
	switch {
	case strings.Contains(line, "  version: "):
		return "VERSION"
	case !ok:
		return regexp.MustCompile(`[0-9a-f]*\d[0-9a-f]*`).ReplaceAllString(line, "9")
	case strings.HasSuffix(text, " %"):
		return key + ": 9 %"
	case aligned.MatchString(text) && quantity.MatchString(text) && strings.Count(text, ".") == 1:
		return key + ": " + aligned.ReplaceAllStringFunc(text, func(n string) string { return fmt.Sprint(len(n)) + " wide" })
	}
	return key + ": " + value(text)
}

// keyShape is that of a line of npu-smi. Documents have lost the tab before it.
func keyShape(line string) string {
	line = strings.TrimLeft(line, " \t")
	if key, text, ok := strings.Cut(line, ": "); ok {
		if strings.HasPrefix(text, "[") {
			return key + ": " + regexp.MustCompile(`\d+ +`).ReplaceAllStringFunc(text, func(cell string) string { return fmt.Sprint(len(cell)) + " wide " })
		}
		return key + ": " + value(text)
	}
	return line
}

// columnShape is where the columns of a line begin: the vendor's document has lost the
// blanks at the end of lines.
func columnShape(line string) string {
	line = strings.TrimRight(line, " ")
	if strings.HasPrefix(line, "Npu") {
		return line
	}
	return fmt.Sprint(regexp.MustCompile(`\S+`).FindAllStringIndex(regexp.MustCompile(`[\d.]+ *`).ReplaceAllStringFunc(line, func(cell string) string {
		return fmt.Sprintf("%-*s", len(cell), "9")
	}), -1))
}

// jsonShape hides the values of a line.
func jsonShape(line string) string {
	line = regexp.MustCompile(`"\w{4}:\w\w:\w\w\.\w"`).ReplaceAllString(line, "BUS")
	line = regexp.MustCompile(`: "[^"]*"`).ReplaceAllString(line, `: "TEXT"`)
	return regexp.MustCompile(`: [\d.]+`).ReplaceAllString(line, ": 9")
}

// networkShape is that of a line of hccn_tool: of a table, its bars.
func networkShape(line string) string {
	line = regexp.MustCompile(`devid \d+`).ReplaceAllString(regexp.MustCompile(`LINK (UP|DOWN)`).ReplaceAllString(clock.ReplaceAllString(line, "TIME"), "LINK"), "devid N")
	switch {
	case strings.HasPrefix(line, "|") && !strings.Contains(line, "NPU") && !strings.Contains(line, "ID ") && !strings.Contains(line, "Interface"):
		return regexp.MustCompile(`[^|]`).ReplaceAllString(regexp.MustCompile("TIME +").ReplaceAllString(line, strings.Repeat(" ", 24)), " ")
	case regexp.MustCompile(`^\w+:\d`).MatchString(line):
		return numbers.ReplaceAllString(line[strings.Index(line, ":"):], "9") + line[:strings.Index(line, ":")]
	}
	if key, text, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(key, "link status") {
		return key + ": " + value(text)
	}
	return regexp.MustCompile(`: +\d+$`).ReplaceAllStringFunc(line, func(n string) string { return n[:len(n)-1] + "9" })
}
