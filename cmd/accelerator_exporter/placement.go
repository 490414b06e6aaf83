package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// lookupTimeout bounds finding out whether a host name is this machine's.
const lookupTimeout = 2 * time.Second

// placement joins the probed targets with the cards that serve them: the
// configured ones, else those on which the process that listens at the target's
// port, a child of it, or another process of its container holds memory.
type placement struct {
	procfs   process.FS
	hardware *collector.Collector
	prober   *probe.Prober
	desc     *prometheus.Desc

	mu    sync.Mutex
	cards map[string][]collector.DeviceRef // by target
}

func newPlacement(procfs process.FS, hardware *collector.Collector, prober *probe.Prober) *placement {
	return &placement{
		procfs: procfs, hardware: hardware, prober: prober,
		desc: prometheus.NewDesc("accelerator_probe_target_device_info",
			"Which cards serve a target, constant 1.", []string{"target", "vendor", "device"}, nil),
	}
}

func (p *placement) Describe(ch chan<- *prometheus.Desc) { ch <- p.desc }

func (p *placement) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for target, cards := range p.cards {
		for _, c := range cards {
			ch <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, 1, target, c.Vendor, c.Device)
		}
	}
}

// run updates soon after the start, when the tools have answered, and then at every interval.
func (p *placement) run(ctx context.Context, interval time.Duration) {
	for wait := min(time.Second, interval); ; wait = interval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			p.update(ctx)
		}
	}
}

func (p *placement) update(ctx context.Context) {
	targets := p.prober.Targets()
	portOfTarget := map[string]int{}
	var ports []int
	for _, t := range targets {
		if port := localPort(ctx, t); port != 0 {
			portOfTarget[t.Name()] = port
			ports = append(ports, port)
		}
	}
	byPort := map[int]process.Server{}
	if len(ports) > 0 {
		// What cannot be seen, for lack of rights or of a procfs, is left out.
		byPort, _ = p.procfs.Servers(ports)
	}
	places, cards := p.hardware.Places(), map[string][]collector.DeviceRef{}
	for _, t := range targets {
		if refs := configured(t); len(refs) > 0 {
			cards[t.Name()] = refs
			continue
		}
		if server := byPort[portOfTarget[t.Name()]]; len(server.Processes) > 0 {
			cards[t.Name()] = p.hardware.DevicesOf(p.serving(server, byPort, places))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards = cards
}

// serving reports which processes are of a server: those behind its port, and where a listener
// is in a container of a pod, all of that container that are not behind another target's port.
// Engines of vLLM and workers of Ray may have another parent.
func (p *placement) serving(server process.Server, all map[int]process.Server, places map[string]model.Container) func(pid string) bool {
	pids, behindAPort := map[string]bool{}, map[string]bool{}
	for _, pid := range server.Processes {
		pids[strconv.Itoa(pid)] = true
	}
	for _, s := range all {
		for _, pid := range s.Processes {
			behindAPort[strconv.Itoa(pid)] = true
		}
	}
	type ids struct{ pod, container string }
	own := map[ids]bool{}
	if len(places) > 0 {
		for _, pid := range server.Listeners {
			at := p.hardware.ContainerOf(pid)
			own[ids{at.PodUID, at.ID}] = at.PodUID != "" && at.ID != ""
		}
	}
	return func(pid string) bool {
		at := places[pid]
		return pids[pid] || own[ids{at.PodUID, at.ID}] && !behindAPort[pid]
	}
}

func configured(t probe.Target) []collector.DeviceRef {
	var refs []collector.DeviceRef
	for vendor, devices := range t.Devices() {
		for _, device := range devices {
			if ref := (collector.DeviceRef{Vendor: vendor, Device: device}); !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// localPort is the port of a target on this machine, 0 for one elsewhere.
func localPort(ctx context.Context, t probe.Target) int {
	if t.Devices() != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if local, err := process.IsLocal(ctx, t.URL().Hostname()); err != nil || !local {
		return 0
	}
	port, _ := strconv.Atoi(openai.Port(t.URL())) // a valid URL has one
	return port
}
