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
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/listening"
)

// lookupTimeout bounds finding out whether a host name is this machine's.
const lookupTimeout = 2 * time.Second

// placement joins the probed targets with the cards that serve them: the
// configured ones, else those on which the process that listens at the target's
// port, or a child of it, holds memory.
type placement struct {
	procfs   process.FS
	hardware *collector.Collector
	prober   *probe.Prober
	desc     *prometheus.Desc

	wake chan struct{} // the targets are others

	mu    sync.Mutex
	cards map[string][]collector.DeviceRef // by target
}

func newPlacement(procfs process.FS, hardware *collector.Collector, prober *probe.Prober) *placement {
	return &placement{
		procfs: procfs, hardware: hardware, prober: prober, wake: make(chan struct{}, 1),
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

// run updates at every interval, and sooner after a change and at the start, when the
// tools have only just answered.
func (p *placement) run(ctx context.Context, interval time.Duration) {
	const early = time.Second
	timer := time.NewTimer(min(early, interval))
	defer timer.Stop()
	for {
		p.update(ctx)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(interval)
		case <-p.wake:
		}
	}
}

// changed has the cards of new targets looked for at once.
func (p *placement) changed() {
	select {
	case p.wake <- struct{}{}:
	default: // it will update anyway
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
	byPort := map[int][]int{}
	if len(ports) > 0 {
		// What cannot be seen, for lack of rights or of a procfs, is not told.
		byPort, _ = listening.Find(p.procfs, ports)
	}
	cards := map[string][]collector.DeviceRef{}
	for _, t := range targets {
		if refs := configured(t); len(refs) > 0 {
			cards[t.Name()] = refs
			continue
		}
		pids := map[string]bool{}
		for _, pid := range byPort[portOfTarget[t.Name()]] {
			pids[strconv.Itoa(pid)] = true
		}
		if len(pids) > 0 {
			cards[t.Name()] = p.hardware.DevicesOf(func(pid string) bool { return pids[pid] })
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards = cards
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
	if local, err := listening.IsLocal(ctx, t.URL().Hostname()); err != nil || !local {
		return 0
	}
	port, _ := strconv.Atoi(openai.Port(t.URL())) // a valid URL has one
	return port
}
