//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube/kubetest"
	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// podUID and containerID are of the pod that has a process on a card.
const (
	podUID      = "0c3f6f1e-2a41-4d0b-9a53-6f5e1d2b7a90"
	containerID = "5f1d0a9be2c7463895ab04e1d7f2c3865f1d0a9be2c7463895ab04e1d7f2c386"
)

// node is a host of Kubernetes whose exporter asks a kubelet.
type node struct {
	host
	kubelet *kubetest.Kubelet
	uuids   map[int]string // of the cards
	cards   string         // what a scrape tells of cards and processes, "" for not known yet
}

// pods shows what the exporter tells of a kubelet's allocations, and that the cards' series are the same whatever it
// allocates. How a kubelet that restarts, hangs or refuses is met, the collector's own tests show.
func pods(t *testing.T, p programs) {
	n := startNode(t, p)
	n.kubelet.SetPods(n.given()...)
	n.tells(t, "what the kubelet allocated", n.allocated()...)
	n.cards = cardSeries(n.scrape(t))
	for _, want := range []string{"accelerator_utilization_ratio{", "accelerator_process_memory_used_bytes{", "accelerator_process_container_info{"} {
		if !strings.Contains(n.cards, want) {
			t.Fatalf("nothing to compare: no %s in\n%s", want, n.cards)
		}
	}
	ended := kubetest.Pod("team-a", "ended", "train", "metax-tech.com/gpu", n.uuids[2])
	n.kubelet.SetPods(append(n.given(), ended)...)
	n.tells(t, "two pods on one card", `accelerator_allocation_conflicts{vendor="metax"} 1`)
	n.kubelet.SetPods(n.given()...)
	n.tells(t, "the ended pod is gone", n.allocated()...)
}

// startNode starts a host with eight cards and a kubelet that allocated none.
func startNode(t *testing.T, p programs) *node {
	t.Helper()
	n := &node{host: host{programs: p, dir: t.TempDir()}, kubelet: kubetest.New(t), uuids: map[int]string{}}
	// A load that is the same for ever, by a stamp that does not grow old: series of cards are to be compared.
	n.write(t, "state/load.json", fmt.Sprintf(`{"at": %q, "busy": 0.9, "pid": 4242}`, time.Now().AddDate(1, 0, 0).Format(time.RFC3339)))
	n.write(t, "state/mx-smi.processes", "0 4242 python3 60032\n4 4343 python3 1024\n5 4444 python3 512\n")
	n.process(t, 1, "/init.scope")
	n.process(t, 2, "/")
	n.process(t, 4242, "/kubepods/burstable/pod"+podUID+"/"+containerID)
	n.process(t, 4343, "/system.slice/docker-"+containerID+".scope")
	n.process(t, 4444, "/system.slice/vllm.service")
	n.write(t, "proc/self/status", "")
	n.write(t, "logs/team-a_llm-0_"+podUID+"/vllm/0.log", "")
	n.kubelet.Start(t)
	n.daemon = programtest.Run(t, "exporter", []string{"FAKEHOST_STATE=" + n.path("state")}, p.path("accelerator_exporter"),
		append([]string{"--kubernetes.pod-resources=" + n.kubelet.Socket}, n.flags()...)...)
	n.exporter = served(t, n.daemon)
	info := regexp.MustCompile(`(?m)^accelerator_info\{.*device="(\d)".*uuid="([^"]+)".*\} 1$`)
	programtest.Eventually(t, patience, "the cards' UUIDs", func() error {
		for _, m := range info.FindAllStringSubmatch(n.scrape(t), -1) {
			device, err := strconv.Atoi(m[1])
			n.uuids[device] = m[2]
			if err != nil {
				return err
			}
		}
		if len(n.uuids) != 8 {
			return fmt.Errorf("UUIDs %v", n.uuids)
		}
		return nil
	})
	return n
}

// flags are those of an exporter of the node, but for the kubelet's socket. Details are left out: their counters grow.
func (n *node) flags() []string {
	return []string{
		"--web.listen-address=127.0.0.1:0", "--collector.metax.command=" + n.programs.path("fake/mx-smi"), "--no-collector.ascend", "--no-collector.numa",
		"--collector.environment=FAKEHOST_STATE", "--collector.detail=off",
		"--collector.interval=1s", "--collector.timeout=2s",
		"--path.procfs=" + n.path("proc"), "--kubernetes.pod-logs=" + n.path("logs"),
	}
}

// process is one of the node's, with what nobody is to read.
func (n *node) process(t *testing.T, pid int, cgroup string) {
	t.Helper()
	parent, flags := 1, 0
	if pid == 2 { // by which the host's procfs is known
		parent, flags = 0, 2129984
	}
	dir := fmt.Sprintf("proc/%d/", pid)
	n.write(t, dir+"stat", fmt.Sprintf("%d (python3) S %d 0 0 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 100%s\n", pid, parent, flags, strings.Repeat(" 0", 30)))
	n.write(t, dir+"cgroup", "0::"+cgroup+"\n")
	n.write(t, dir+"status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n")
	n.write(t, dir+"environ", "TOKEN=x")
}

// given is what the kubelet allocated: a card whose pod works, one that two pods share, and an idle one.
func (n *node) given() []*v1.PodResources {
	gpu := func(namespace, pod, container, id string) *v1.PodResources {
		return kubetest.Pod(namespace, pod, container, "metax-tech.com/gpu", id)
	}
	return []*v1.PodResources{
		gpu("team-a", "llm-0", "vllm", n.uuids[0]),
		gpu("team-b", "notebook-0", "jupyter", n.uuids[1]+"::0"), gpu("team-b", "notebook-1", "jupyter", n.uuids[1]+"::1"),
		gpu("team-a", "idle-0", "vllm", n.uuids[2]),
		kubetest.Pod("team-a", "web-0", "web", "cpu"),
	}
}

func (*node) allocation(device int, namespace, pod, container string) string {
	return fmt.Sprintf(`accelerator_device_allocation_info{container=%q,device="%d",namespace=%q,pod=%q,resource="metax-tech.com/gpu",vendor="metax"} 1`, container, device, namespace, pod)
}

// allocated are the series of what is given.
func (n *node) allocated() []string {
	return []string{
		n.allocation(0, "team-a", "llm-0", "vllm"), n.allocation(1, "team-b", "notebook-0", "jupyter"),
		n.allocation(1, "team-b", "notebook-1", "jupyter"), n.allocation(2, "team-a", "idle-0", "vllm"),
		`accelerator_allocation_conflicts{vendor="metax"} 0`,
	}
}

// scrape fails the test where the cards' series are others than before.
func (n *node) scrape(t *testing.T) string {
	t.Helper()
	page, err := programtest.Get(t, "http://"+n.exporter+"/metrics")
	programtest.NoError(t, err)
	if n.cards != "" {
		if diff := cmp.Diff(strings.Split(n.cards, "\n"), strings.Split(cardSeries(page), "\n")); diff != "" {
			t.Fatalf("the cards' series (-before +now):\n%s", diff)
		}
	}
	return page
}

// cardSeries are the lines of a scrape that tell of cards and the processes on them.
func cardSeries(page string) string {
	about := regexp.MustCompile(`^(# (HELP|TYPE) )?accelerator_(collector|exporter|device_allocation|allocation)_`)
	var lines []string
	for line := range strings.Lines(page) {
		if strings.Contains(line, "accelerator_") && !about.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// allocations are the lines of a scrape that tell of what the kubelet allocated.
func allocations(page string) []string {
	return regexp.MustCompile(`(?m)^accelerator_(device_allocation_info|allocation_conflicts)\{.*$`).FindAllString(page, -1)
}

// tells waits until the kubelet's allocations are told so.
func (n *node) tells(t *testing.T, what string, want ...string) {
	t.Helper()
	slices.Sort(want)
	programtest.Eventually(t, patience, what, func() error {
		got := allocations(n.scrape(t))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}
