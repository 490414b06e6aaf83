package collector

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// tableName is the command whose success is the collector's success.
const tableName = "table"

// vendorCollector collects the cards of one enabled vendor.
type vendorCollector struct {
	VendorOptions
	poller         *poller[model.Snapshot]
	table, network *tool // the program with the main table, and that of the network ports: nil for none
	processes      host.ProcessReader
	containers     *containers // nil where it is off

	// Of the goroutine that polls.
	report     model.Report    // the last main table, with what every poll adds to it
	known      []model.Device  // cards of the last table, and the missing ones
	placements host.Placements // where the processes of report run

	mostSeen  atomic.Int64
	announced atomic.Int64
}

func newVendorCollector(v VendorOptions, c *containers, o Options) *vendorCollector {
	h := newHealth(v.Name, o.Logger)
	newProgram := func(path string, network bool, classify model.Classifier) *tool {
		commands := slices.DeleteFunc(slices.Clone(v.Commands), func(c model.Command) bool { return c.Network != network || !o.wants(c) })
		for i, c := range commands {
			if c.Inventory && (c.Every == 0 || c.Every > o.InventoryInterval) { // as the flag says
				commands[i].Every = o.InventoryInterval
			}
		}
		r := o.NewRunner(process.Options{Path: path, Timeout: o.Timeout, Variables: o.Variables})
		h.runners = append(h.runners, r)
		return newTool(commands, r, classify, h, o)
	}
	v.Table.Inventory = true // its errors are those of the tool, and a part of it is no table
	collector := &vendorCollector{VendorOptions: v, table: newProgram(v.Command, false, v.Classify), processes: newProcessReader(o), containers: c}
	if v.Network != "" {
		collector.network = newProgram(v.Network, true, v.ClassifyNetwork)
	}
	collector.poller = newPoller(h, o, collector.read)
	collector.poller.between = collector.between
	return collector
}

// run polls until ctx ends, then kills what still runs.
func (v *vendorCollector) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() {
		v.poller.run(ctx)
		v.table.runner.Close()
	})
	if v.network != nil {
		wg.Go(func() {
			const forever = 100 * 365 * 24 * time.Hour
			v.network.askUntil(ctx, time.Now().Add(forever))
			v.network.runner.Close()
		})
	}
	wg.Wait()
}

func (v *vendorCollector) tools() []*tool {
	if v.network == nil {
		return []*tool{v.table}
	}
	return []*tool{v.table, v.network}
}

// read asks for the main table and joins it with what the other commands have answered.
func (v *vendorCollector) read(ctx context.Context) (result[model.Snapshot], error) {
	start := time.Now()
	var a answer
	for _, args := range v.Table.Args(model.Device{}) {
		if a = v.table.call(ctx, v.Table, args, nil); !isRefusal(a.err) {
			break
		}
	}
	taken := time.Now()
	if a.err == nil {
		for _, t := range v.tools() { // as printed: what EveryPoll commands add does not make it another card
			t.setCards(slices.Clone(a.report.Devices))
		}
		v.table.askEveryPoll(ctx, &a.report)
		a.err = ctx.Err() // shutting down is no failure of a command
	}
	began, listed := time.Now(), a.report.Processes
	if a.err != nil {
		listed = v.report.Processes // what is known of them holds
	}
	placements := v.processes.Read(listed, start)
	v.containers.report(v.Name, began, placements, v.table.hasProcesses())
	if a.err != nil {
		return result[model.Snapshot]{}, a.err
	}
	v.report, v.placements = a.report, placements
	s := v.merge()
	warnings := a.report.Warnings
	warnings.Join(s.Warnings)
	return result[model.Snapshot]{value: s, taken: taken, warnings: warnings}, nil
}

// between asks the other commands. It returns a new snapshot as soon as an inventory was asked for, else nil.
func (v *vendorCollector) between(ctx context.Context, until time.Time) *model.Snapshot {
	if !v.table.askUntil(ctx, until) {
		return nil
	}
	s := v.merge()
	return &s
}

// merge joins the last table with the inventories.
func (v *vendorCollector) merge() model.Snapshot {
	s := model.Merge(v.report, v.table.inventory(), v.Resolve)
	v.placements.AddTo(&s)
	v.mostSeen.Store(max(v.mostSeen.Load(), int64(s.Seen)))
	v.announced.Store(int64(s.Announced))
	shown := s.Devices[:s.Seen]
	s.Missing = model.Missing(shown, slices.Concat(s.Devices[s.Seen:], s.Missing, v.known), min(v.expected(), model.MaxDevices)-s.Seen)
	v.known = slices.Concat(shown, s.Missing)
	return s
}

// expected is how many cards there ought to be; 0 while nothing is known.
func (v *vendorCollector) expected() int {
	if v.ExpectedDevices > 0 {
		return v.ExpectedDevices
	}
	return int(max(v.mostSeen.Load(), v.announced.Load()))
}
