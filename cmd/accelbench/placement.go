package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
)

// exporterURL is where an exporter on this host serves its metrics.
const exporterURL = "http://127.0.0.1:10068/metrics"

// machineFlags say which cards of which machine a server is on.
type machineFlags struct {
	exporter     string
	exporterHTTP string                      // file with the HTTP client's configuration
	devices      func(placement.CardID) bool // nil for all cards
	target       string
}

func (f *machineFlags) register(c *kingpin.CmdClause) {
	registerExporter(c, "accelerator_exporter's metrics. Default: "+exporterURL+".", &f.exporter, &f.exporterHTTP)
	c.Flag("devices", "Cards of the server, such as 0-3. Default: all.").PlaceHolder("LIST").SetValue(parsed(&f.devices, placement.ParseDevices))
	c.Flag("target", "Target of the exporter's probe that names the cards of the server.").StringVar(&f.target)
}

func (f *machineFlags) read(ctx context.Context) (*placement.Machine, error) {
	if f.devices != nil && f.target != "" {
		return nil, usage(errors.New("give --devices or --target, not both"))
	}
	http, err := loadHTTP("--exporter-http-config", f.exporterHTTP)
	if err != nil {
		return nil, err
	}
	page, err := load.ReadExporter(ctx, cmp.Or(f.exporter, exporterURL), http)
	if err != nil {
		return nil, fmt.Errorf("--exporter: %w", err)
	}
	m := placement.Read(page)
	if f.target != "" {
		if f.devices, err = m.ServingCards(f.target); err != nil {
			return nil, fmt.Errorf("--target: %w", err)
		}
	}
	if f.devices == nil {
		return m, nil
	}
	if m, err = m.WithCards(f.devices); err != nil {
		return nil, fmt.Errorf("--devices: %w", err)
	}
	return m, nil
}

func (p *program) addPlacement() {
	c := p.Command("placement", "Say whether the processes on the cards run on the NUMA node of their cards, and how to bind them there, "+
		"from accelerator_exporter's page. Exit codes: 0 all well placed or nothing to gain, 1 not known for a process, 4 a process is not where it could be.")
	var machine machineFlags
	machine.register(c)
	asJSON := c.Flag("json", "Print JSON.").Bool()
	p.commands[c.Model().Name] = func(ctx context.Context) (int, error) {
		m, err := machine.read(ctx)
		if err != nil {
			return exitNothing, err
		}
		result := m.Judge()
		if *asJSON {
			err = writeJSON(p.stdout, result)
		} else {
			err = result.Text(p.stdout)
		}
		placed := result.Placed()
		switch {
		case err != nil:
			return exitNothing, fmt.Errorf("printing the placement: %w", err)
		case placed == nil:
			return exitNothing, nil
		case !*placed:
			return exitMisplaced, nil
		}
		return exitMeasured, nil
	}
}
