package collector

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

var allCosts = flag.Bool("cost", false, "with -v: print what the details cost for every length of a call")

// machineOf is a machine whose tools are asked by the vendor's real plan.
type machineOf struct {
	name, vendor string
	cards        []model.Device
}

func machines() []machineOf {
	all := []machineOf{{name: "8 C500", vendor: "metax"}, {name: "8 x 910B", vendor: "ascend"}, {name: "A3, 16 dies", vendor: "ascend"}}
	for i := range 8 {
		all[0].cards = append(all[0].cards, model.Device{ID: fmt.Sprint(i)})
		all[1].cards = append(all[1].cards, model.Device{ID: fmt.Sprint(i), NPU: fmt.Sprint(i), Chip: "0"})
	}
	for i := range 16 {
		all[2].cards = append(all[2].cards, model.Device{ID: fmt.Sprint(i), NPU: fmt.Sprint(i / 2), Chip: fmt.Sprint(i % 2)})
	}
	return all
}

// ages are the longest times between two answers to a question, by how often it is to be asked.
type ages struct {
	mu      sync.Mutex
	last    map[string]time.Time
	longest map[time.Duration]time.Duration
}

func (a *ages) answered(key string, every time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.last[key]; ok {
		a.longest[every] = max(a.longest[every], time.Since(before))
	}
	a.last[key] = time.Now()
}

// forget begins anew to look for the longest.
func (a *ages) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.longest)
}

// planned is the vendor with its real plan: what is asked of whom, and how often. Answers
// are not read but noted.
func (a *ages) planned(m machineOf) model.Vendor {
	v := vendorNamed(m.vendor)
	v.Table.Parse = func([]byte, []model.Device) (model.Report, error) {
		a.answered("table", 0)
		return model.Report{Devices: slices.Clone(m.cards)}, nil
	}
	for i := range v.Commands {
		d := &v.Commands[i]
		name, every := d.Name, d.Every
		d.Enough, d.More = nil, nil
		if d.Inventory {
			d.Parse = func([]byte, []model.Device) (model.Report, error) { return model.Report{}, nil }
			continue
		}
		d.Parse = func(_ []byte, cards []model.Device) (model.Report, error) {
			a.answered(name+" "+cards[0].ID, every)
			return model.Report{Devices: []model.Device{{ID: cards[0].ID, Readings: model.Readings{{Metric: model.Metric(name), Value: 1}}}}}, nil
		}
	}
	return v
}

// cost is what the tools of a machine have done in two hours, after one to settle.
type cost struct {
	starts  [2]float64 // a minute, of the tool itself and of the network tool
	busy    [2]float64 // of the time
	longest map[time.Duration]time.Duration
}

func costOf(t *testing.T, m machineOf, detail Detail, takesLong time.Duration) (total cost) {
	t.Helper()
	const settle, length = time.Hour, 2 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		a := &ages{last: map[string]time.Time{}, longest: map[time.Duration]time.Duration{}}
		o := options()
		o.Detail = detail
		var tools [2]*scripted
		for i := range tools {
			tools[i] = &scripted{answer: takes(takesLong, prints(""))}
		}
		start(t, newScripted(o, VendorOptions{Vendor: a.planned(m), Command: "tool", Network: "network"}, tools[0], tools[1]))
		time.Sleep(settle)
		a.forget()
		before := [2]int{tools[0].callCount(), tools[1].callCount()}
		time.Sleep(length)
		for i, tool := range tools {
			n := float64(tool.callCount() - before[i])
			total.starts[i], total.busy[i] = n/length.Minutes(), n*takesLong.Seconds()/length.Seconds()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		total.longest = a.longest
	})
	return total
}

// What the tools cost, in virtual time: -v -cost prints a table. A user would
// notice a tool that is busier than a fifth of the time, a main table that
// comes late, and details that are gone although the tool could keep up.
func TestDetailsCost(t *testing.T) {
	const share, polls = 0.2, 10.0
	for _, m := range machines() {
		for _, detail := range []Detail{DetailOff, DetailLean, DetailFull} {
			if detail == DetailFull && m.vendor == "metax" {
				continue // the same as lean
			}
			for _, takes := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
				if !*allCosts && (takes < 2*time.Second || detail == DetailOff) {
					continue // CPU: what is slow is what can go wrong
				}
				c := costOf(t, m, detail, takes)
				t.Logf("| %s | %s | %s | %.0f | %.0f %% | %.0f | %.0f %% | %s |", m.name, detail, takes,
					c.starts[0], 100*c.busy[0], c.starts[1], 100*c.busy[1], spell(c.longest))
				if limit := takes.Seconds()/polls + share + 0.02; c.busy[0] > limit || c.busy[1] > share+0.02 {
					t.Errorf("%s, %s, %s a call: busy %.2f and %.2f of the time, want at most %.2f and %.2f", m.name, detail, takes, c.busy[0], c.busy[1], limit, share+0.02)
				}
				if late := c.longest[0] - 10*time.Second; late > takes {
					t.Errorf("%s, %s, %s a call: the main table was %s late", m.name, detail, takes, late)
				}
			}
		}
	}
}

// spell writes ages with the question's own interval, without those of an hour.
func spell(longest map[time.Duration]time.Duration) string {
	var cells []string
	for _, every := range []time.Duration{30 * time.Second, time.Minute, 5 * time.Minute} {
		cell := ""
		if longest[every] > 0 {
			cell = longest[every].Round(time.Second).String()
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " | ")
}
