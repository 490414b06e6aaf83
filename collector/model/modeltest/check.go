package modeltest

import (
	"bytes"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// CheckReport holds that nothing in a report is there twice and that every value
// is one a card can have.
func CheckReport(t testing.TB, r model.Report) {
	t.Helper()
	seen := once{t, map[[3]string]bool{}}
	seen.cards(r.Devices)
	for _, d := range r.Listed {
		seen.once("listed card", d.ID, "")
	}
	seen.slices(r.Slices)
	for _, p := range r.Processes {
		if p.Device == "" || p.PID == "" || !(p.UsedBytes >= 0 && p.UsedBytes < most) {
			t.Errorf("a process that nothing names, or with no memory: %+v", p)
		}
	}
	if r.Announced < 0 {
		t.Errorf("%d cards are announced", r.Announced)
	}
}

// CheckSnapshot holds that no identity that becomes a series is there twice and
// that everything refers to a card of the snapshot.
func CheckSnapshot(t testing.TB, s model.Snapshot) {
	t.Helper()
	seen := once{t, map[[3]string]bool{}}
	seen.cards(s.Devices)
	seen.slices(s.Slices)
	for _, p := range s.Processes {
		seen.once("process", p.Device, p.PID)
		seen.card(p.Device)
	}
	for _, x := range s.Slices {
		seen.card(x.Device)
	}
	for _, l := range s.Links {
		seen.once("link", l.Device, l.Peer)
		seen.card(l.Device)
		if l.Device == l.Peer {
			t.Errorf("card %s is linked to itself", l.Device)
		}
	}
	if s.Seen > len(s.Devices) || s.Announced < s.Seen {
		t.Errorf("%d cards seen, %d announced, %d in all", s.Seen, s.Announced, len(s.Devices))
	}
}

// most is more than any tool can mean.
const most = 1e20

type once struct {
	t    testing.TB
	seen map[[3]string]bool
}

func (o once) once(kind, a, b string) {
	o.t.Helper()
	key := [3]string{kind, a, b}
	if a == "" || o.seen[key] {
		o.t.Errorf("%q is there twice or has no name", key)
	}
	o.seen[key] = true
}

func (o once) card(id string) {
	o.t.Helper()
	if !o.seen[[3]string{"card", id, ""}] {
		o.t.Errorf("card %s is referred to and is not there", id)
	}
}

func (o once) cards(devices []model.Device) {
	o.t.Helper()
	for _, d := range devices {
		o.once("card", d.ID, "")
		o.readings("card "+d.ID, d.Readings)
		if h := d.Health; h != nil && (h.State == "" || h.OK != (h.State == "Available" || h.State == "OK")) {
			o.t.Errorf("card %s has the health %+v", d.ID, *h)
		}
	}
}

func (o once) slices(all []model.Slice) {
	o.t.Helper()
	for _, s := range all {
		o.once("slice", s.Device, s.ID)
		o.readings("slice "+s.ID+" of card "+s.Device, s.Readings)
	}
}

func (o once) readings(of string, rs model.Readings) {
	o.t.Helper()
	for _, r := range rs {
		o.once(of, string(r.Metric), strings.Join(r.Labels, ","))
		if strings.HasPrefix(of, "slice") != r.Metric.OfSlice() {
			o.t.Errorf("%s has a %s", of, r.Metric)
		}
		isRatio, isTemperature := strings.HasSuffix(string(r.Metric), "_ratio"), strings.HasSuffix(string(r.Metric), "_celsius")
		if !(r.Value > -most && r.Value < most) || r.Value < 0 && !isTemperature && !strings.HasSuffix(string(r.Metric), "_decibels") || r.Value > 1 && isRatio {
			o.t.Errorf("%s has a %s of %v", of, r.Metric, r.Value)
		}
		for _, whole := range []string{"total", "quota"} {
			total, ok := rs.Get(model.Metric(strings.Replace(string(r.Metric), "used", whole, 1)), r.Labels...)
			if ok && strings.Contains(string(r.Metric), "used") && (total == 0 || r.Value > total) {
				o.t.Errorf("%s has a %s of %v and a %s of %v", of, r.Metric, r.Value, whole, total)
			}
		}
	}
}

// CheckPrinted holds every number of the cards against the text of their rows:
// the line with a card's bus id and, at line offset other, its other one. Cards
// without a bus id of their own are left out.
func CheckPrinted(t testing.TB, text string, other int, devices []model.Device) {
	t.Helper()
	number := regexp.MustCompile(`\d+(\.\d+)?`)
	lines := strings.Split(text, "\n")
	for _, d := range devices {
		var rows []string
		for n, line := range lines {
			if d.BusID != "" && strings.Contains(line, d.BusID) && n+other >= 0 && n+other < len(lines) {
				rows = append(rows, line+" "+lines[n+other])
			}
		}
		if len(rows) != 1 {
			continue
		}
		printed := map[string]bool{}
		for _, n := range number.FindAllString(rows[0], -1) {
			printed[strings.TrimSuffix(n, ".0")] = true
		}
		for _, r := range d.Readings {
			if !printed[asPrinted(r)] {
				t.Errorf("card %s has a %s of %v, which its rows do not print:\n%s", d.ID, r.Metric, r.Value, rows[0])
			}
		}
	}
}

// asPrinted writes a reading in the unit that tables print it in.
func asPrinted(r model.Reading) string {
	v := r.Value
	switch name := string(r.Metric); {
	case strings.HasSuffix(name, "_ratio"):
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v*100, 'f', 6, 64), 64)
	case strings.HasSuffix(name, "_bytes"):
		v /= 1 << 20
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// MustBegin holds that what was read before a cut is the beginning of the whole.
func MustBegin[T any](t testing.TB, what string, whole, part []T) {
	t.Helper()
	if len(part) > len(whole) {
		t.Fatalf("%d %s before the cut, %d in all", len(part), what, len(whole))
	}
	if begin := whole[:len(part)]; len(part) > 0 && !reflect.DeepEqual(begin, part) {
		t.Fatalf("%s in all (-) and before the cut (+) differ:\n%s", what, cmp.Diff(begin, part))
	}
}

// MustAgree holds that a card that was read before a cut is the same in the whole,
// where it is in it: what follows may tell that lines were lost beside it.
func MustAgree(t testing.TB, whole, part []model.Device) {
	t.Helper()
	known := map[[3]string]model.Device{}
	for _, d := range whole {
		known[[3]string{d.ID, d.NPU, d.Chip}] = d
	}
	for _, d := range part {
		if all, ok := known[[3]string{d.ID, d.NPU, d.Chip}]; ok && !reflect.DeepEqual(all, d) {
			t.Fatalf("a card in all (-) and before the cut (+) differ:\n%s", cmp.Diff(all, d))
		}
	}
}

// WholeLines is the lines that end before a cut.
func WholeLines(out []byte, cut int) []byte {
	out = out[:max(0, min(cut, len(out)))]
	return out[:bytes.LastIndexByte(out, '\n')+1]
}

// InAnyOrder compares readings whatever their order, which is that of the columns.
func InAnyOrder() cmp.Option {
	return cmp.Transformer("byName", func(rs model.Readings) map[string]float64 { return ByName(rs) })
}

// ByName is readings by their metric and labels: "power_watts", "memory_used_bytes hbm".
func ByName(rs model.Readings) map[string]float64 {
	all := make(map[string]float64, len(rs))
	for _, r := range rs {
		all[strings.Join(append([]string{string(r.Metric)}, r.Labels...), " ")] = r.Value
	}
	return all
}

// Reading is what a test expects of one metric.
func Reading(m model.Metric, v float64, labels ...string) model.Readings {
	return model.Readings{{Metric: m, Labels: labels, Value: v}}
}

// Usage is what a test expects of "used / total", scaled; a part that is nil is
// not printed.
func Usage(prefix, unit string, scale float64, used, total *float64, labels ...string) (rs model.Readings) {
	if used != nil {
		rs = append(rs, Reading(model.Metric(prefix+"used"+unit), *used*scale, labels...)...)
	}
	if total != nil {
		rs = append(rs, Reading(model.Metric(prefix+"total"+unit), *total*scale, labels...)...)
	}
	return rs
}

// Warnings is what a test expects of warnings that all have their text.
func Warnings(texts ...string) model.Warnings {
	return model.Warnings{Texts: texts, Count: len(texts)}
}
