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
	kernel "github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// targetCards joins the probed targets with the cards that serve them: the
// configured ones, else those on which the process that listens at the target's
// port, a child of it, or another process of its container holds memory.
type targetCards struct {
	hosts      process.LocalHosts
	servers    process.ServerFinder
	containers bool // whether those of processes may be looked at
	hardware   *collector.Collector
	prober     *probe.Prober
	desc       *prometheus.Desc

	mu    sync.Mutex
	cards map[string]map[servingCard]bool // by target
}

type servingCard struct {
	vendor, device string
}

func newTargetCards(o collector.Options, hardware *collector.Collector, prober *probe.Prober) *targetCards {
	return &targetCards{
		hosts: process.LocalHosts{Lookup: net.DefaultResolver.LookupNetIP}, servers: process.ServerFinder{FS: process.FS(o.Procfs)},
		containers: o.Containers && o.Processes, hardware: hardware, prober: prober,
		desc: prometheus.NewDesc("accelerator_probe_target_device_info",
			"Which cards serve a target, constant 1.", []string{"target", "vendor", "device"}, nil),
	}
}

func (t *targetCards) Describe(ch chan<- *prometheus.Desc) { ch <- t.desc }

func (t *targetCards) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for target, cards := range t.cards {
		for c := range cards {
			ch <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, 1, target, c.vendor, c.device)
		}
	}
}

// byTarget returns the cards that serve each target. They are not changed.
func (t *targetCards) byTarget() map[string]map[servingCard]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cards
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
	targets := t.prober.Statuses()
	ports := t.localPorts(ctx, targets)
	var byPort map[int]process.Server
	if len(ports) > 0 {
		// What cannot be seen, for lack of rights or of a procfs, is left out.
		byPort, _ = t.servers.Find(slices.Collect(maps.Values(ports)))
	}
	vendors, cards := t.hardware.Cards(), map[string]map[servingCard]bool{}
	for _, target := range targets {
		all := map[servingCard]bool{}
		for vendor, devices := range target.Devices {
			for _, device := range devices {
				all[servingCard{vendor, device}] = true
			}
		}
		if server, ok := byPort[ports[target.Name]]; ok {
			all = t.cardsOf(server, byPort, vendors)
		}
		cards[target.Name] = all
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards = cards
}

// cardsOf returns the cards on which processes of a server hold memory: those behind its port, and where a listener is
// in a container of a pod, all of that container that are not behind another target's port. Engines of vLLM and workers
// of Ray may have another parent.
func (t *targetCards) cardsOf(server process.Server, byPort map[int]process.Server, vendors []collector.Cards) map[servingCard]bool {
	isBehind := map[string]bool{} // by PID of a process behind any port: whether it is behind this server's
	for _, s := range byPort {
		for _, pid := range s.Processes {
			isBehind[strconv.Itoa(pid)] = slices.Contains(server.Processes, pid)
		}
	}
	type ids struct{ pod, container string }
	own := map[ids]bool{}
	for _, pid := range server.Listeners {
		if t.containers {
			c, _ := kernel.ReadContainer(t.servers.FS, pid)
			own[ids{c.PodUID, c.ID}] = c.PodUID != "" && c.ID != ""
		}
	}
	cards := map[servingCard]bool{}
	for _, v := range vendors {
		inOwn := map[string]bool{}
		for _, p := range v.Placements {
			inOwn[p.PID] = own[ids{p.Container.PodUID, p.Container.ID}]
		}
		for _, p := range v.Processes {
			if isServer, isKnown := isBehind[p.PID]; isServer || !isKnown && inOwn[p.PID] {
				cards[servingCard{v.Vendor, p.Device}] = true
			}
		}
	}
	return cards
}

// localPorts are the ports, by target, of those on this machine whose cards are not configured.
func (t *targetCards) localPorts(ctx context.Context, targets []probe.Status) map[string]int {
	var hosts []string
	for _, target := range targets {
		if target.Devices == nil {
			hosts = append(hosts, target.Base.Hostname())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	local, ports := t.hosts.Among(ctx, hosts), map[string]int{}
	for _, target := range targets {
		if target.Devices == nil && local[target.Base.Hostname()] {
			ports[target.Name], _ = strconv.Atoi(openai.Port(target.Base)) // a valid URL has one
		}
	}
	return ports
}
