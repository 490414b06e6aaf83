package main

import (
	"context"
	"maps"
	"net"
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

// lookupTimeout bounds finding out which host names are this machine's.
const lookupTimeout = 2 * time.Second

// targetCards joins the probed targets with the cards that serve them: the
// configured ones, else those on which the process that listens at the target's
// port, a child of it, or another process of its container holds memory.
type targetCards struct {
	hosts    process.LocalHosts
	servers  process.ServerFinder
	hardware *collector.Collector
	prober   *probe.Prober
	desc     *prometheus.Desc

	mu    sync.Mutex
	cards map[string][]collector.DeviceRef // by target
}

func newTargetCards(procfs process.FS, hardware *collector.Collector, prober *probe.Prober) *targetCards {
	return &targetCards{
		hosts: process.LocalHosts{Lookup: net.DefaultResolver.LookupNetIP}, servers: process.ServerFinder{FS: procfs},
		hardware: hardware, prober: prober,
		desc: prometheus.NewDesc("accelerator_probe_target_device_info",
			"Which cards serve a target, constant 1.", []string{"target", "vendor", "device"}, nil),
	}
}

func (t *targetCards) Describe(ch chan<- *prometheus.Desc) { ch <- t.desc }

func (t *targetCards) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for target, cards := range t.cards {
		for _, c := range cards {
			ch <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, 1, target, c.Vendor, c.Device)
		}
	}
}

// run updates soon after the start, when the tools have answered, and then at every interval.
func (t *targetCards) run(ctx context.Context, interval time.Duration) {
	for wait := min(time.Second, interval); ; wait = interval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			t.update(ctx)
		}
	}
}

func (t *targetCards) update(ctx context.Context) {
	targets := t.prober.Targets()
	ports := t.localPorts(ctx, targets)
	var byPort map[int]process.Server
	if len(ports) > 0 {
		// What cannot be seen, for lack of rights or of a procfs, is left out.
		byPort, _ = t.servers.Find(slices.Collect(maps.Values(ports)))
	}
	places, cards := t.hardware.Places(), map[string][]collector.DeviceRef{}
	for _, target := range targets {
		if refs := configured(target); len(refs) > 0 {
			cards[target.Name()] = refs
			continue
		}
		if server := byPort[ports[target.Name()]]; len(server.Processes) > 0 {
			cards[target.Name()] = t.hardware.DevicesOf(t.serving(server, byPort, places))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards = cards
}

// serving reports which processes are of a server: those behind its port, and where a listener
// is in a container of a pod, all of that container that are not behind another target's port.
// Engines of vLLM and workers of Ray may have another parent.
func (t *targetCards) serving(server process.Server, all map[int]process.Server, places map[string]model.Container) func(pid string) bool {
	behindAPort := map[string]bool{}
	for _, s := range all {
		for _, pid := range s.Processes {
			behindAPort[strconv.Itoa(pid)] = true
		}
	}
	type ids struct{ pod, container string }
	own := map[ids]bool{}
	if len(places) > 0 {
		for _, pid := range server.Listeners {
			at := t.hardware.ContainerOf(pid)
			own[ids{at.PodUID, at.ID}] = at.PodUID != "" && at.ID != ""
		}
	}
	return func(pid string) bool {
		number, _ := strconv.Atoi(pid)
		at := places[pid]
		return slices.Contains(server.Processes, number) || own[ids{at.PodUID, at.ID}] && !behindAPort[pid]
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

// localPorts are the ports, by target, of those on this machine whose cards are not configured.
func (t *targetCards) localPorts(ctx context.Context, targets []probe.Target) map[string]int {
	var hosts []string
	for _, target := range targets {
		if target.Devices() == nil {
			hosts = append(hosts, target.URL().Hostname())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	local, ports := t.hosts.Among(ctx, hosts), map[string]int{}
	for _, target := range targets {
		if target.Devices() == nil && local[target.URL().Hostname()] {
			ports[target.Name()], _ = strconv.Atoi(openai.Port(target.URL())) // a valid URL has one
		}
	}
	return ports
}
