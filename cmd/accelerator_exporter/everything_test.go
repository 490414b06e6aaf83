package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kubelet/kubelettest"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// everything makes a machine that has one of everything a metric can tell of, and
// returns the flags to look at it: cards of both vendors, a broken one, a sliced
// one, processes in containers, NICs, two NUMA nodes, a kubelet, a target that answers and one that does not.
func everything(t testing.TB) []string {
	t.Helper()
	probes := fmt.Sprintf(`probes:
  # Names whose first probe is due at once.
  - name: chat-c
    url: %s
    model: qwen2.5
    interval: 1h
    max_tokens: 4
    slo: {time_to_first_token: 10s, time_per_output_token: 10s, inter_token_latency: 10s, request_duration: 10s}
    devices: {metax: ["0", "1"], ascend: ["0", "1", "8"]}
  - {name: standby, url: "http://127.0.0.1:9", model: qwen2.5, interval: 1h, slo: {time_to_first_token: 2s}}
`, server(t))
	return []string{
		"--collector.metax.command=" + tool(t, "mx-smi", metaxAnswers(t)),
		"--collector.ascend.command=" + tool(t, "npu-smi", ascendAnswers(t)),
		"--collector.ascend.hccn-command=" + tool(t, "hccn_tool", networkAnswers(ascendMachine())),
		"--collector.interval=1h", "--collector.inventory-interval=1h",
		"--collector.detail=full", "--collector.detail-share=1", "--collector.serials",
		"--collector.numa-maps", "--path.sysfs=" + nodes(t), "--path.procfs=" + string(processes(t)), "--kubernetes.pod-logs=" + podLogs(t),
		"--kubernetes.pod-resources=" + kubelet(t),
		"--config.file=" + writeFile(t, "probes.yml", probes, 0o644),
	}
}

// kubelet allocated two whole cards and a share of a third to the pod that uses them, the other share to another pod, and a
// card by DRA.
func kubelet(t testing.TB) string {
	t.Helper()
	const gpu, first, second, third = "metax-tech.com/gpu", "GPU-7c1e0000-0d5a-4b1f-9a11-5e0000000000", "GPU-7c1e0101-0d5a-4b1f-9a11-5e0000000001", "GPU-7c1e0202-0d5a-4b1f-9a11-5e0000000002"
	answer := kubelettest.Pod("team-a", "llm-0", kubelettest.Container("vllm", kubelettest.Devices(gpu, first, second+"::0", third))) +
		kubelettest.Pod("inference", "rerank-0", kubelettest.Container("vllm", kubelettest.Devices(gpu, second+"::1"))) +
		kubelettest.Pod("inference", "mindie-0", kubelettest.Container("mindie", kubelettest.Dynamic("inference", "mindie-0-npu", "npu.huawei.com", "ascend910-1")))
	return kubelettest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { kubelettest.Answer(w, answer) }))
}

// tool writes a program that prints a text for each list of arguments.
func tool(t testing.TB, name string, answers map[string]string) string {
	t.Helper()
	script := "#!/bin/sh\ncase \"$*\" in\n"
	for args, text := range answers {
		script += fmt.Sprintf("%q) exec cat %q ;;\n", args, writeFile(t, "answer", text, 0o644))
	}
	return writeFile(t, name, script+"*) exit 1 ;;\nesac\n", 0o755)
}

// printed is what write writes.
func printed(t testing.TB, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func metaxAnswers(t testing.TB) map[string]string {
	t.Helper()
	layout, at := fakesmi.MetaXLayouts()[4], time.Unix(0, 0).UTC()
	m := few(fakesmi.MetaXMachine("2.2.9", fakesmi.Load{Busy: 0.6, Cache: 0.3, PID: 4242, Process: "VLLM::EngineCor"}), 4)
	*m.Devices[1].NUMANode, m.Devices[1].CPUAffinity = 1, "2-3"
	m.Slices = []model.Slice{{Device: "2", ID: "0", Readings: model.Readings{
		{Metric: "slice_memory_used_bytes", Value: 2 << 30},
		{Metric: "slice_memory_quota_bytes", Value: 8 << 30},
		{Metric: "slice_compute_quota_ratio", Value: 0.25},
		{Metric: "slice_utilization_ratio", Value: 0.2},
	}}}
	m.Links = append(m.Links, model.Link{Device: "0", Peer: "mlx5_0", Type: "PXB"}, model.Link{Device: "1", Peer: "mlx5_0", Type: "NODE"})
	// The last card is broken: -L knows it, the table and the topology do not.
	m.Devices[3].Health = &model.Health{State: "Not Available", Reason: "Layout Node Not Found"}
	m.Devices[3].UUID = ""
	table, list := few(m, 3), m
	// One more fell out of the table, and -L has not noticed.
	lost := m.Devices[2]
	lost.ID, lost.Board, lost.BusID, lost.UUID = "4", "4", "0000:99:00.0", "GPU-4"
	list.Devices = append(slices.Clone(m.Devices), lost)
	answers := map[string]string{
		"":        printed(t, func(b *bytes.Buffer) error { return layout.Print(b, table, at) }),
		"-L":      printed(t, func(b *bytes.Buffer) error { return layout.PrintList(b, list) }),
		"topo -n": printed(t, func(b *bytes.Buffer) error { return layout.PrintTopology(b, table, []string{"mlx5_0"}, at) }),
	}
	deepMetaX(t, answers, layout, table)
	return answers
}

// ascendMachine is four dies on two cards, the last of which raises an alarm.
func ascendMachine() (fakesmi.AscendLayout, model.Report) {
	layout := fakesmi.AscendLayouts()[4]
	m := few(fakesmi.AscendMachine("25.2.0", 2, fakesmi.Load{Busy: 0.6, Cache: 0.3, PID: 4343, Process: "python3"}), 4)
	for i := range m.Devices {
		d := &m.Devices[i]
		d.CPUAffinity = "2-3"
		d.Readings = append(d.Readings,
			model.Reading{Metric: "hugepages_used", Value: 20},
			model.Reading{Metric: "hugepages_total", Value: 40},
			model.Reading{Metric: "memory_used_bytes", Labels: []string{"ddr"}, Value: 1 << 30},
			model.Reading{Metric: "memory_total_bytes", Labels: []string{"ddr"}, Value: 16 << 30})
	}
	m.Devices[3].Health = &model.Health{State: "Alarm"}
	return layout, m
}

func ascendAnswers(t testing.TB) map[string]string {
	t.Helper()
	layout, m := ascendMachine()
	answers := map[string]string{
		"info":         printed(t, func(b *bytes.Buffer) error { return layout.Print(b, m) }),
		"info -m":      printed(t, func(b *bytes.Buffer) error { return layout.PrintMapping(b, m) }),
		"info -l":      printed(t, func(b *bytes.Buffer) error { return layout.PrintList(b, m) }),
		"info -t topo": printed(t, func(b *bytes.Buffer) error { return layout.PrintTopology(b, m) }),
	}
	deepAscend(t, answers, layout, m)
	return answers
}

// few keeps the first n cards and what is about them.
func few(r model.Report, n int) model.Report {
	gone := func(device string) bool {
		i, err := strconv.Atoi(device)
		return err == nil && i >= n
	}
	r.Devices = slices.Clone(r.Devices[:n])
	r.Links = slices.DeleteFunc(slices.Clone(r.Links), func(l model.Link) bool { return gone(l.Device) || gone(l.Peer) })
	r.Processes = slices.DeleteFunc(slices.Clone(r.Processes), func(p model.Process) bool { return gone(p.Device) })
	r.Announced = n
	return r
}

// nodes makes a sysfs of two NUMA nodes, which agrees with the topology on the node of one
// card and not on that of another.
func nodes(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for node, cpus := range []string{"0-1", "2-3"} {
		dir := filepath.Join(root, "devices/system/node", "node"+strconv.Itoa(node))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"cpulist":  cpus + "\n",
			"meminfo":  strings.ReplaceAll("Node # MemTotal: 8192 kB\nNode # MemFree: 1024 kB\nNode # MemUsed: 7168 kB\n", "#", strconv.Itoa(node)),
			"distance": []string{"10 21\n", "21 10\n"}[node],
			"numastat": "numa_hit 11\nnuma_miss 12\nnuma_foreign 13\ninterleave_hit 14\nlocal_node 15\nother_node 16\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, card := range []string{"0000:11:00.0", "0000:19:00.0"} {
		dir := filepath.Join(root, "bus/pci/devices", card)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte("0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A pod and its container of everything.
const (
	podUID      = "6a4ce4a0-ba47-11ea-b2a7-0cc47ac5979e"
	containerID = "17db96a24ae1e9dd57143e62b1cb0d2d35e693c65c774c7470e87b0572e07c1a"
)

// processes makes a procfs of a host where the process on the MetaX cards is in a pod, and
// that on the Ascend cards in a container of docker. It is looked at from a container.
func processes(t testing.TB) processtest.Procfs {
	t.Helper()
	procfs := processtest.Host(t, map[int]processtest.Process{
		4242: {Cgroup: "/kubepods/burstable/pod" + podUID + "/" + containerID, CPUs: "0-3", Mems: "0-1"},
		4343: {Cgroup: "/system.slice/docker-" + containerID + ".scope", CPUs: "0-1", Mems: "0"},
	})
	for _, pid := range []string{"4242", "4343"} {
		procfs.Write(t, pid+"/numa_maps", "7f0000000000 default anon=3072 N0=1024 N1=2048 kernelpagesize_kB=4\n")
	}
	procfs.FromContainer(t)
	return procfs
}

// podLogs makes the kubelet's log folder of the pod.
func podLogs(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "team-a_llm-0_"+podUID, "vllm"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}
