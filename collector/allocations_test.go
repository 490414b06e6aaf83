package collector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube/kubetest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// given is a pod with one container that was allocated these devices.
func given(name, resource string, ids ...string) *v1.PodResources {
	return kubetest.Pod("ns", name, "c", resource, ids...)
}

// fixed is a source that has read something.
type fixed[T any] struct{ value T }

func (s fixed[T]) read(context.Context) (result[T], error) {
	return result[T]{value: s.value, taken: time.Now()}, nil
}

const uuid0, uuid1 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604a9", "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604aa"

// attributed returns a collector with two MetaX cards, asking this kubelet.
func attributed(t testing.TB, k *kubetest.Kubelet, o Options) *Collector {
	t.Helper()
	k.Start(t)
	o.PodResources = k.Socket
	c := &Collector{series: newSeries()}
	c.cards = []cards{{poller: newPoller("metax", fixed[model.Snapshot]{}, o), hardware: newHardware(Vendors()[0], &scripted{}, nil, 0, o)}}
	c.setCards(o, model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}, Seen: 2})
	c.allocations = newPoller(allocationsName, newAllocations(c, o), o)
	return c
}

// setCards is what the tool prints from now on.
func (c *Collector) setCards(o Options, s model.Snapshot) {
	c.cards[0].poller = newPoller("metax", fixed[model.Snapshot]{s}, o)
	c.cards[0].poller.poll(context.Background())
}

// allocationLines are the lines of a scrape about allocations.
func allocationLines(t testing.TB, c *Collector) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(scrape(t, c)) {
		if strings.HasPrefix(line, "accelerator_device_allocation_info") || strings.HasPrefix(line, "accelerator_allocation_conflicts") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// allocatedTo is the series of a card's allocation.
func allocatedTo(pod, device string) string {
	return fmt.Sprintf(`accelerator_device_allocation_info{container="c",device=%q,namespace="ns",pod=%q,resource="metax-tech.com/gpu",vendor="metax"} 1`, device, pod)
}

func conflicts(n int) string {
	return fmt.Sprintf(`accelerator_allocation_conflicts{vendor="metax"} %d`, n)
}

// step polls and compares.
func step(t *testing.T, c *Collector, what string, want ...string) {
	t.Helper()
	c.allocations.poll(t.Context())
	if diff := cmp.Diff(want, allocationLines(t, c)); diff != "" {
		t.Errorf("%s: want (-) and got (+) differ:\n%s", what, diff)
	}
}

func TestAllocations(t *testing.T) {
	k, o := kubetest.New(t), options()
	c := attributed(t, k, o)
	if lines := allocationLines(t, c); lines != nil {
		t.Errorf("before the first poll: %q", lines)
	}
	k.SetPods(given("idle", "cpu", "1"))
	step(t, c, "no card allocated", conflicts(0))
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1+"::0"), given("d", "metax-tech.com/gpu", uuid1+"::1"))
	step(t, c, "one whole card and one shared", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"), allocatedTo("d", "1"))
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("ended", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "two pods on one card", conflicts(1))
	k.SetAnswer(func(context.Context) ([]*v1.PodResources, error) { return nil, status.Error(codes.Internal, "no") })
	step(t, c, "a kubelet that fails", conflicts(1))
	if s := c.Statuses()[1]; s.Success || s.LastReason != failure.Exit || s.Hint != "read the kubelet's log" {
		t.Errorf("a kubelet that fails is %+v", s)
	}
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "the ended pod is gone", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
}

func TestAllocationsWithdrawn(t *testing.T) {
	k, o := kubetest.New(t), options()
	c := attributed(t, k, o)
	stranger := model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}, Seen: 2, Processes: []model.Process{{Device: "0", PID: "10"}}}
	c.setCards(o, stranger)
	runsIn := func(pod string) {
		stranger.Placements = []model.Placement{{PID: "10", Container: model.Container{Namespace: "ns", Pod: pod}}}
		c.setCards(o, stranger)
	}
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "nobody knows where processes run", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	runsIn("b")
	step(t, c, "a process of pod b on the card of pod a", conflicts(1))
	stranger.Processes, stranger.Placements = nil, nil
	c.setCards(o, stranger)
	step(t, c, "it is gone", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
}

// A card's number says nothing of the card that had it before.
func TestAllocationsOfCardsThatChange(t *testing.T) {
	k, o := kubetest.New(t), options()
	c := attributed(t, k, o)
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "two cards", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	c.setCards(o, model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid1}}, Seen: 1})
	if diff := cmp.Diff([]string{conflicts(0), allocatedTo("b", "0")}, allocationLines(t, c)); diff != "" {
		t.Errorf("a card fell off the bus: want (-) and got (+) differ:\n%s", diff)
	}
	c.cards[0].poller = newPoller("metax", fixed[model.Snapshot]{}, o)
	step(t, c, "a tool without a table")
}

func TestAllocationsGrowOld(t *testing.T) {
	k, o := kubetest.New(t), options()
	c := attributed(t, k, o)
	k.SetPods(given("a", "metax-tech.com/gpu", uuid0))
	step(t, c, "fresh", conflicts(0), allocatedTo("a", "0"))
	setTaken := func(age time.Duration) {
		c.allocations.mu.Lock()
		defer c.allocations.mu.Unlock()
		c.allocations.taken = time.Now().Add(-age)
	}
	setTaken(3*o.Interval + o.Timeout)
	if lines := allocationLines(t, c); lines != nil {
		t.Errorf("old: %q", lines)
	}
}

// An id without a card costs its own claim and is counted once, not at every poll.
func TestIDsWithoutACard(t *testing.T) {
	k, o := kubetest.New(t), options()
	c := attributed(t, k, o)
	k.SetPods(given("a", "metax-tech.com/sgpu", "x1", "x2"), given("b", "metax-tech.com/gpu", "", uuid1))
	want := []string{`allocated device "" of "metax-tech.com/gpu": of no known form`, `allocated devices of "metax-tech.com/sgpu": such ids name no card`}
	for range 3 {
		step(t, c, "one id with a card", conflicts(0), allocatedTo("b", "1"))
		s := c.Statuses()[1]
		if diff := cmp.Diff(want, s.LeftOut.Texts); s.Warnings != 2 || diff != "" {
			t.Errorf("%d warnings, want 2; want (-) and got (+) differ:\n%s", s.Warnings, diff)
		}
	}
}

// Without the flag there is no collector, and nothing to be opened.
func TestNoAllocationsUnasked(t *testing.T) {
	c := simulated(t)
	body := scrape(t, c)
	if c.allocations != nil || strings.Contains(body, "allocation_") || strings.Contains(body, `"allocations"`) {
		t.Error("allocations are exported unasked")
	}
}
