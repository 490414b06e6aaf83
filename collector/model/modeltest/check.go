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
	for _, d := range r.Devices {
		seen.once("card", d.ID, "")
		device(t, seen, &d)
	}
	for _, d := range r.Listed {
		seen.once("listed card", d.ID, "")
	}
	for _, s := range r.Slices {
		seen.once("slice", s.Device, s.ID)
		share(t, "slice", s.ComputeQuotaRatio, s.UtilizationRatio)
		used(t, "slice", s.MemoryUsedBytes, s.MemoryQuotaBytes)
	}
	for _, p := range r.Processes {
		notNegative(t, "process", &p.UsedBytes)
		if p.Device == "" || p.PID == "" {
			t.Errorf("a process that nothing names: %+v", p)
		}
	}
	if r.Announced < 0 {
		t.Errorf("%d cards are announced", r.Announced)
	}
}

func device(t testing.TB, seen once, d *model.Device) {
	t.Helper()
	share(t, "card "+d.ID, d.UtilizationRatio)
	notNegative(t, "card "+d.ID, d.PowerWatts, d.PowerLimitWatts, d.PerformanceLevel)
	used(t, "hugepages of card "+d.ID, d.HugepagesUsed, d.HugepagesTotal)
	for _, m := range d.Memory {
		seen.once("memory", d.ID, m.Type)
		used(t, m.Type+" of card "+d.ID, m.UsedBytes, m.TotalBytes)
		if m.UsedBytes == nil && m.TotalBytes == nil {
			t.Errorf("card %s has %s of which nothing is known", d.ID, m.Type)
		}
	}
	if h := d.Health; h != nil && (h.State == "" || h.OK != (h.State == "Available" || h.State == "OK")) {
		t.Errorf("card %s has the health %+v", d.ID, *h)
	}
}

// CheckSnapshot holds that no identity that becomes a series is there twice and
// that everything refers to a card of the snapshot.
func CheckSnapshot(t testing.TB, s model.Snapshot) {
	t.Helper()
	seen := once{t, map[[3]string]bool{}}
	for _, d := range s.Devices {
		seen.once("card", d.ID, "")
		device(t, seen, &d)
	}
	for _, p := range s.Processes {
		seen.once("process", p.Device, p.PID)
		seen.card(p.Device)
	}
	for _, x := range s.Slices {
		seen.once("slice", x.Device, x.ID)
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

func share(t testing.TB, what string, values ...*float64) {
	t.Helper()
	for _, v := range values {
		if v != nil && !(*v >= 0 && *v <= 1) {
			t.Errorf("%s has a share of %v", what, *v)
		}
	}
}

func notNegative(t testing.TB, what string, values ...*float64) {
	t.Helper()
	for _, v := range values {
		if v != nil && !(*v >= 0 && *v < 1e20) {
			t.Errorf("%s has a value of %v", what, *v)
		}
	}
}

func used(t testing.TB, what string, used, total *float64) {
	t.Helper()
	notNegative(t, what, used, total)
	if total != nil && (*total == 0 || used != nil && *used > *total) {
		t.Errorf("%s has a total of %v", what, *total)
	}
}

// CheckPrinted holds every number of the cards against the text of their rows:
// the line with a card's bus id and, at line offset other, its other one. Cards
// without a bus id of their own are left out.
func CheckPrinted(t testing.TB, text string, other int, devices []model.Device) {
	t.Helper()
	number := regexp.MustCompile(`\d+(\.\d+)?`)
	lines := strings.Split(text, "\n")
	for i := range devices {
		d := &devices[i]
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
		for what, v := range numbers(d) {
			if v != nil && !printed[strconv.FormatFloat(*v, 'f', -1, 64)] {
				t.Errorf("card %s has %v %s, which its rows do not print:\n%s", d.ID, *v, what, rows[0])
			}
		}
	}
}

// numbers are a card's readings in the units that tools print.
func numbers(d *model.Device) map[string]*float64 {
	scaled := func(v *float64, scale float64) *float64 {
		if v == nil {
			return nil
		}
		n := *v * scale
		return &n
	}
	all := map[string]*float64{
		"W": d.PowerWatts, "W at most": d.PowerLimitWatts, "C": d.TemperatureCelsius, "as level": d.PerformanceLevel,
		"pages": d.HugepagesUsed, "pages in all": d.HugepagesTotal,
	}
	if d.UtilizationRatio != nil {
		percent, _ := strconv.ParseFloat(strconv.FormatFloat(*d.UtilizationRatio*100, 'f', 6, 64), 64)
		all["%"] = &percent
	}
	for _, m := range d.Memory {
		all["MiB "+m.Type], all["MiB "+m.Type+" in all"] = scaled(m.UsedBytes, 1.0/(1<<20)), scaled(m.TotalBytes, 1.0/(1<<20))
	}
	return all
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

// WholeLines is the lines that end before a cut.
func WholeLines(out []byte, cut int) []byte {
	out = out[:max(0, min(cut, len(out)))]
	return out[:bytes.LastIndexByte(out, '\n')+1]
}
