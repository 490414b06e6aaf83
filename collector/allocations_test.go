package collector

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kube/kubetest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// given is a pod with one container that was allocated these devices.
func given(name, resource string, ids ...string) *v1.PodResources {
	return kubetest.Pod("ns", name, "c", resource, ids...)
}

const uuid0, uuid1 = "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604a9", "GPU-a16ac188-0592-5c8f-2b6e-8bd8e7a604aa"

// attributed is a collector with two MetaX cards, asking this kubelet. A test has them polled: a kubelet's socket knows no
// virtual time.
type attributed struct {
	*Collector
	*kubetest.Kubelet
	table model.Report // of the tool
	logs  string       // the folder of the pods' logs
}

func newAttributed(t testing.TB) *attributed {
	t.Helper()
	a := &attributed{Kubelet: kubetest.New(t), logs: t.TempDir()}
	a.Start(t)
	o := options()
	o.PodResources, o.Containers, o.PodLogs = a.Socket, true, a.logs
	o.Procfs = string(processtest.Host(t, map[int]processtest.Process{10: {Cgroup: "/kubepods/pod" + podUID + "/" + strings.Repeat("a", 64)}}))
	v := model.Vendor{
		Name: "metax", Classify: toyClassify,
		Table: model.Command{Args: model.SameArgs([]string{}), Parse: func([]byte, []model.Device) (model.Report, error) {
			if a.table.Devices == nil {
				return model.Report{}, failure.Errorf(failure.Parse, "no table")
			}
			return a.table, nil
		}},
	}
	a.Collector = newScripted(o, VendorOptions{Vendor: v, Command: "mx-smi"}, &scripted{answer: prints("")}, nil)
	a.table.Devices = []model.Device{{ID: "0", UUID: uuid0}, {ID: "1", UUID: uuid1}}
	return a
}

// step polls and compares.
func (a *attributed) step(t *testing.T, what string, want ...string) {
	t.Helper()
	a.vendors[0].poller.poll(t.Context())
	a.allocations.poll(t.Context())
	if diff := cmp.Diff(want, allocationLines(t, a)); diff != "" {
		t.Errorf("%s: want (-) and got (+) differ:\n%s", what, diff)
	}
}

// allocationLines are the lines of a scrape about allocations.
func allocationLines(t testing.TB, c prometheus.Gatherer) []string {
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

func TestAllocations(t *testing.T) {
	a := newAttributed(t)
	if lines := allocationLines(t, a); lines != nil {
		t.Errorf("before the first poll: %q", lines)
	}
	a.SetPods(given("idle", "cpu", "1"))
	a.step(t, "no card allocated", conflicts(0))
	a.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1+"::0"), given("d", "metax-tech.com/gpu", uuid1+"::1"))
	a.step(t, "one whole card and one shared", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"), allocatedTo("d", "1"))
	a.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("ended", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	a.step(t, "two pods on one card", conflicts(1))
	a.SetAnswer(func(context.Context) ([]*v1.PodResources, error) { return nil, status.Error(codes.Internal, "no") })
	a.step(t, "a kubelet that fails", conflicts(1))
	if s := a.Statuses()[2]; s.Success || s.LastReason != failure.Exit || s.Hint != "read the kubelet's log" {
		t.Errorf("a kubelet that fails is %+v", s)
	}
	a.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	a.step(t, "the ended pod is gone", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
}

func TestAllocationsWithdrawn(t *testing.T) {
	a := newAttributed(t)
	a.table.Processes = []model.Process{{Device: "0", PID: "10"}}
	a.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	a.step(t, "nobody knows whose pod the process is in", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	if err := os.MkdirAll(filepath.Join(a.logs, "ns_b_"+podUID, "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.step(t, "a process of pod b on the card of pod a", conflicts(1))
	a.table.Processes = nil
	a.step(t, "it is gone", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
}

// A card's number says nothing of the card that had it before, and an answer that is old says nothing.
func TestAllocationsOfCardsThatChange(t *testing.T) {
	a := newAttributed(t)
	a.SetPods(given("a", "metax-tech.com/gpu", uuid0), given("b", "metax-tech.com/gpu", uuid1))
	a.step(t, "two cards", conflicts(0), allocatedTo("a", "0"), allocatedTo("b", "1"))
	a.table.Devices = []model.Device{{ID: "0", UUID: uuid1}}
	a.step(t, "a card fell off the bus", conflicts(0), allocatedTo("b", "0"))
	a.allocations.store([]kube.Claim{}, time.Now().Add(-3*options().Interval-options().Timeout))
	if lines := allocationLines(t, a); lines != nil {
		t.Errorf("old: %q", lines)
	}
}

// An id without a card costs its own claim and is counted once, not at every poll.
func TestIDsWithoutACard(t *testing.T) {
	a := newAttributed(t)
	a.SetPods(given("a", "metax-tech.com/sgpu", "x1", "x2"), given("b", "metax-tech.com/gpu", "", uuid1))
	want := []string{`allocated device "" of "metax-tech.com/gpu": of no known form`, `allocated devices of "metax-tech.com/sgpu": such ids name no card`}
	for range 3 {
		a.step(t, "one id with a card", conflicts(0), allocatedTo("b", "1"))
		s := a.Statuses()[2]
		if diff := cmp.Diff(want, s.LeftOut.Texts); s.Warnings != 2 || diff != "" {
			t.Errorf("%d warnings, want 2; want (-) and got (+) differ:\n%s", s.Warnings, diff)
		}
	}
}

// Without the flag there is no collector, and nothing to be opened.
func TestNoAllocationsUnasked(t *testing.T) {
	simulated(t, func(c *Collector) {
		if body := scrape(t, c); strings.Contains(body, "allocation_") || strings.Contains(body, `"allocations"`) {
			t.Error("allocations are exported unasked")
		}
	})
}
