package collector

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/command"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// fakeKubelet is a PodResources server that says what a test gives it.
type fakeKubelet struct {
	mu     sync.Mutex
	answer string        // "" for an error
	asked  chan struct{} // holds something once there was a question; nil for nobody who wants to know
}

func (k *fakeKubelet) say(pods ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answer = strings.Join(pods, "")
}

func (k *fakeKubelet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case k.asked <- struct{}{}:
	default:
	}
	if k.answer == "" {
		kubelettest.Refuse(w, 13, "no")
		return
	}
	kubelettest.Answer(w, k.answer)
}

// given is a pod with one container that was allocated these devices.
func given(name, resource string, ids ...string) string {
	return kubelettest.Pod("ns", name, kubelettest.Container("c", kubelettest.Devices(resource, ids...)))
}

// fixed is a source that has read something.
type fixed[T any] struct{ value T }

func (fixed[T]) stuck() int { return 0 }

func (fixed[T]) beside() (model.Warnings, uint64) { return model.Warnings{}, 0 }

func (s fixed[T]) read(_ context.Context, publish func(result[T])) error {
	publish(result[T]{value: s.value, taken: time.Now()})
	return nil
}

const uuid0, uuid1 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604a9", "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604aa"

// attributed returns a collector with two MetaX cards, asking this kubelet.
func attributed(t testing.TB, k *fakeKubelet, o Options) *Collector {
	t.Helper()
	o.PodResources = kubelettest.Serve(t, k)
	c := &Collector{series: newSeries(), timeout: o.Timeout}
	c.cards = []cards{{poller: newPoller("metax", fixed[model.Snapshot]{}, o), hardware: newHardware(vendors()[0], nil, nil, 0, o)}}
	c.setCards(o, model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}, Seen: 2})
	c.conflicts = newAllocations(c, o)
	c.allocations = newPoller(allocationsName, c.conflicts, o)
	return c
}

// setCards is what the tool prints from now on.
func (c *Collector) setCards(o Options, s model.Snapshot) {
	c.cards[0].poller = newPoller("metax", fixed[model.Snapshot]{s}, o)
	c.cards[0].poller.poll(context.Background())
}

// allocationLines are the lines of a scrape that tell of allocations.
func allocationLines(t testing.TB, c *Collector) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(scrape(t, c)) {
		if strings.HasPrefix(line, "accelerator_device_allocation_info") || strings.HasPrefix(line, "accelerator_allocation_conflicts_total") {
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
	return fmt.Sprintf(`accelerator_allocation_conflicts_total{vendor="metax"} %d`, n)
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
	k, o := &fakeKubelet{}, options()
	c := attributed(t, k, o)
	if diff := cmp.Diff([]string{conflicts(0)}, allocationLines(t, c)); diff != "" {
		t.Errorf("before the first poll: want (-) and got (+) differ:\n%s", diff)
	}
	k.say(given("idle", "cpu", "1"))
	step(t, c, "no card allocated", conflicts(0))
	k.say(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1+"::0"), given("d", "metax-tech.com/gpu", uuid1+"::1"))
	step(t, c, "one whole card and one shared", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"), allocatedTo("d", "1"))
	k.say(given("a", "metax-tech.com/gpu", uuid0), given("ended", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	for range 2 {
		step(t, c, "two pods on one card", conflicts(1), allocatedTo("b", "1"))
	}
	k.say("")
	step(t, c, "a kubelet that fails", conflicts(1), allocatedTo("b", "1"))
	if s := c.Statuses()[1]; s.Success || s.LastReason != failure.Exit || s.Hint != "the kubelet's log" {
		t.Errorf("a kubelet that fails is %+v", s)
	}
	k.say(given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "the ended pod is gone", conflicts(1), allocatedTo("b", "1"))
	k.say(given("a", "metax-tech.com/gpu", uuid0), given("ended", "metax-tech.com/gpu", uuid0))
	step(t, c, "a conflict that comes again", conflicts(2))
}

func TestAllocationsWithdrawn(t *testing.T) {
	k, o := &fakeKubelet{}, options()
	c := attributed(t, k, o)
	stranger := model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}, Seen: 2, Processes: []model.Process{{Device: "0", PID: "10"}}}
	c.setCards(o, stranger)
	place := container.Place{Namespace: "ns", Pod: "b"}
	runsIn := func(p container.Place) {
		c.containers = newPoller("containers", fixed[container.Snapshot]{container.Snapshot{Processes: []container.Process{{Vendor: "metax", PID: "10", Place: p}}}}, o)
		c.containers.poll(t.Context())
	}
	k.say(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "nobody knows where processes run", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	runsIn(place)
	for range 3 {
		step(t, c, "a process of pod b on the card of pod a", conflicts(1))
	}
	c.containers = nil
	step(t, c, "nobody knows any more", conflicts(1))
	runsIn(container.Place{Namespace: "ns", Pod: "a"})
	step(t, c, "another process of that number", conflicts(1), allocatedTo("a", "0"), allocatedTo("b", "1"))
	runsIn(place)
	step(t, c, "and another", conflicts(2))
	stranger.Processes = nil
	c.setCards(o, stranger)
	step(t, c, "it is gone", conflicts(2), allocatedTo("a", "0"), allocatedTo("b", "1"))
}

// A card's number says nothing of the card that had it before: series of another card are not told.
func TestAllocationsOfCardsThatChange(t *testing.T) {
	k, o := &fakeKubelet{}, options()
	c := attributed(t, k, o)
	k.say(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	step(t, c, "two cards", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	c.setCards(o, model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid1}}, Seen: 1})
	if diff := cmp.Diff([]string{conflicts(0)}, allocationLines(t, c)); diff != "" {
		t.Errorf("a card fell off the bus: want (-) and got (+) differ:\n%s", diff)
	}
	step(t, c, "after the next poll", conflicts(0), allocatedTo("b", "0"))
	c.cards[0].poller = newPoller("metax", fixed[model.Snapshot]{}, o)
	step(t, c, "a tool without a table", conflicts(0))
}

func TestAllocationsGrowOld(t *testing.T) {
	k, o := &fakeKubelet{}, options()
	c := attributed(t, k, o)
	k.say(given("a", "metax-tech.com/gpu", uuid0))
	step(t, c, "fresh", conflicts(0), allocatedTo("a", "0"))
	k.say("")
	setTaken := func(age time.Duration) {
		c.allocations.mu.Lock()
		defer c.allocations.mu.Unlock()
		c.allocations.taken = time.Now().Add(-age)
	}
	setTaken(3*o.Interval + o.Timeout - time.Minute/20)
	step(t, c, "almost old", conflicts(0), allocatedTo("a", "0"))
	setTaken(3*o.Interval + o.Timeout)
	step(t, c, "old", conflicts(0))
}

// An id without a card is said and counted once, however often it is allocated.
func TestIDsWithoutACard(t *testing.T) {
	k, o := &fakeKubelet{}, options()
	c := attributed(t, k, o)
	warnings := func() (uint64, []string) {
		c.allocations.poll(t.Context())
		s := c.Statuses()[1]
		return s.Warnings, s.LeftOut.Texts
	}
	k.say(given("a", "metax-tech.com/sgpu", "x1", "x2"), given("b", "metax-tech.com/gpu", "odd"))
	want := []string{`allocated devices of "metax-tech.com/sgpu": such ids name no card`, `allocated device "odd" of "metax-tech.com/gpu": of no known form`}
	for range 3 {
		n, texts := warnings()
		slices.Sort(texts)
		slices.Sort(want)
		if diff := cmp.Diff(want, texts); n != 3 || diff != "" {
			t.Errorf("%d warnings, want 3; want (-) and got (+) differ:\n%s", n, diff)
		}
	}
	k.say(given("a", "metax-tech.com/sgpu", "x1", "x3"))
	if n, _ := warnings(); n != 4 {
		t.Errorf("%d warnings after one more id, want 4", n)
	}
}

// Without the flag there is no collector, and nothing to be opened.
func TestNoAllocationsUnasked(t *testing.T) {
	c := simulated(t)
	body := scrape(t, c)
	if c.allocations != nil || c.conflicts != nil || strings.Contains(body, "allocation_") || strings.Contains(body, `"allocations"`) {
		t.Error("allocations are told unasked")
	}
}

// The first answer of the kubelet comes when there are cards to join it with.
func TestFirstAllocationsHaveCards(t *testing.T) {
	k, o := &fakeKubelet{asked: make(chan struct{}, 1)}, options()
	o.Interval = time.Hour
	c := attributed(t, k, o)
	k.say(given("a", "metax-tech.com/gpu", uuid0))
	ctx, stop := context.WithCancel(t.Context())
	c.cards[0].runner = command.New(command.Options{Path: "unused", Timeout: o.Timeout, Subreaper: process.NewSubreaper()})
	slow := &slowTable{fixed: fixed[model.Snapshot]{model.Snapshot{Devices: []model.Device{{ID: "0", UUID: uuid0}}, Seen: 1}}, until: make(chan struct{})}
	c.cards[0].poller = newPoller[model.Snapshot]("metax", slow, o)
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	select {
	case <-k.asked:
		t.Error("the kubelet is asked before the tool has answered")
	case <-time.After(100 * time.Millisecond): // long enough for a question that should not come
	}
	close(slow.until)
	eventually(t, "the allocation is told", func() bool { return slices.Contains(allocationLines(t, c), allocatedTo("a", "0")) })
	stop()
	<-done
}

// slowTable is a tool that answers when it is let.
type slowTable struct {
	fixed[model.Snapshot]
	until chan struct{}
}

func (s *slowTable) read(ctx context.Context, publish func(result[model.Snapshot])) error {
	<-s.until
	return s.fixed.read(ctx, publish)
}
