package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kube/kubetest"
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
  - {name: standby, url: "http://127.0.0.1:9", model: qwen2.5, interval: 1h, expect_same: true, slo: {time_to_first_token: 2s}}
`, server(t))
	return []string{
		"--collector.metax.command=" + tool(t, "mx-smi", answers(t, "mx-smi")),
		"--collector.ascend.command=" + tool(t, "npu-smi", answers(t, "npu-smi")),
		"--collector.ascend.hccn-command=" + tool(t, "hccn_tool", answers(t, "hccn_tool")),
		"--collector.interval=1h", "--collector.inventory-interval=1h",
		"--collector.detail=full", "--collector.serials",
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
	k := kubetest.New(t)
	k.Start(t)
	k.SetPods(
		kubetest.Pod("team-a", "llm-0", "vllm", gpu, first, second+"::0", third),
		kubetest.Pod("inference", "rerank-0", "vllm", gpu, second+"::1"),
		kubetest.DynamicPod("inference", "mindie-0", "mindie", "mindie-0-npu", "npu.huawei.com", "ascend910-1"))
	return k.Socket
}

// answers are what a tool of the machine prints, by its arguments: those of
// testdata/NAME.txtar, where the call without any is named table.
func answers(t testing.TB, name string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range archive.Files {
		all[strings.TrimPrefix(file.Name, "table")] = string(file.Data)
	}
	return all
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

// nodes makes a sysfs of two NUMA nodes, which agrees with the topology on the node of one
// card and not on that of another.
func nodes(t testing.TB) string {
	t.Helper()
	sysfs := processtest.Nodes(t)
	for _, card := range []string{"0000:11:00.0", "0000:19:00.0"} {
		processtest.CardOnNode(t, sysfs, card, 0)
	}
	return sysfs
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
