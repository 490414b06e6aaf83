package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// busyCards is a tool that lists a process on each card.
func busyCards(t *testing.T, pids ...string) string {
	t.Helper()
	table, err := os.ReadFile("../../collector/metax/testdata/table-layout-2.2.9.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for card, pid := range pids {
		fmt.Fprintf(&rows, "|  %-19d%7s         %-29s%-15d|\n", card, pid, "python3", 1024)
	}
	printed := regexp.MustCompile(`(?m)(^\|.*VLLM::EngineCor.*\n)+`).ReplaceAllLiteralString(string(table), rows.String())
	return tool(t, "mx-smi", map[string]string{"": printed})
}

// portOf is the port of a URL.
func portOf(t *testing.T, target string) int {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// listens writes a table of listening sockets into a procfs, from each port's inode.
func listens(t testing.TB, procfs processtest.Procfs, inodes map[int]int) {
	t.Helper()
	table := "  sl  local_address rem_address   st\n"
	for port, inode := range inodes {
		table += fmt.Sprintf("   0: 0100007F:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 0 100 0 0 10 0\n", port, inode)
	}
	procfs.Write(t, "net/tcp", table)
}

// servingCards are the cards that a scrape says to serve the one target.
func servingCards(body string) []string {
	var cards []string
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, `accelerator_probe_target_device_info{device="`); ok {
			card, _, _ := strings.Cut(rest, `"`)
			cards = append(cards, card)
		}
	}
	return cards
}

// An engine that is no child of the process at the port is of the target where both are in
// one container. A user would notice the cards of a neighbour: of another container of the
// pod, of the host, or of a container whose pod is not known.
func TestCardsOfAContainer(t *testing.T) {
	other := strings.Repeat("b", 64)
	pod := "/kubepods/burstable/pod" + podUID + "/"
	for name, c := range map[string]struct {
		listener string
		flags    []string
		want     []string
	}{
		"in a pod":           {listener: pod + containerID + "/api", want: []string{"0", "4"}},
		"switched off":       {listener: pod + containerID, flags: []string{"--no-collector.containers"}, want: []string{"4"}},
		"without processes":  {listener: pod + containerID, flags: []string{"--no-collector.processes"}, want: []string{"4"}},
		"in docker":          {listener: "/docker/" + containerID, want: []string{"4"}},
		"on the host":        {listener: "/system.slice/vllm.service", want: []string{"4"}},
		"in a pod's sandbox": {listener: strings.TrimSuffix(pod, "/"), want: []string{"4"}},
	} {
		t.Run(name, func(t *testing.T) {
			target := server(t)
			port := portOf(t, target)
			procfs := processtest.Host(t, map[int]processtest.Process{
				5000: {Parent: 1, Cgroup: c.listener, Files: []string{"socket:[501]"}},
				5001: {Parent: 5000, Cgroup: c.listener},
				5100: {Parent: 1, Cgroup: pod + containerID},
				5200: {Parent: 1, Cgroup: pod + other},
				5300: {Parent: 1, Cgroup: "/docker/" + containerID},
				5400: {Parent: 1, Cgroup: strings.TrimSuffix(pod, "/")},
			})
			listens(t, procfs, map[int]int{port: 501})
			p := start(t, append(c.flags, "--collector.metax.command="+busyCards(t, "5100", "5200", "5300", "5400", "5001"), "--no-collector.ascend", "--no-collector.numa",
				"--collector.interval=50ms", "--path.procfs="+string(procfs), "--kubernetes.pod-logs="+podLogs(t), "--probe.target="+target, "--probe.model=qwen2.5", "--probe.interval=1h")...)
			waitFor(t, "both have looked some times, and the cards are "+strings.Join(c.want, ", "), func() bool {
				_, body := p.get(t, "/metrics")
				seen := len(c.flags) > 0 || strings.Contains(body, `accelerator_process_container_info{container="vllm",container_id="`+containerID)
				return seen && cmp.Equal(c.want, servingCards(body))
			})
			for range 20 { // and stay so
				if _, body := p.get(t, "/metrics"); !cmp.Equal(c.want, servingCards(body)) {
					t.Fatalf("cards %q, want %q", servingCards(body), c.want)
				}
			}
		})
	}
}

// Two servers in one container: the cards of the one are not the other's. A worker that is a
// child of neither may be of both.
func TestCardsOfTwoServersInAContainer(t *testing.T) {
	a, b := server(t), server(t)
	path := "/kubepods/burstable/pod" + podUID + "/" + containerID
	procfs := processtest.Host(t, map[int]processtest.Process{
		5000: {Parent: 1, Cgroup: path, Files: []string{"socket:[501]"}},
		5001: {Parent: 5000, Cgroup: path},
		5100: {Parent: 1, Cgroup: path, Files: []string{"socket:[502]"}},
		5101: {Parent: 5100, Cgroup: path},
		5200: {Parent: 1, Cgroup: path},
	})
	listens(t, procfs, map[int]int{portOf(t, a): 501, portOf(t, b): 502})
	config := writeFile(t, "probes.yml", fmt.Sprintf("probes:\n- {name: a, url: %q, interval: 1h}\n- {name: b, url: %q, interval: 1h}\n", a, b), 0o644)
	p := start(t, "--collector.metax.command="+busyCards(t, "5001", "5101", "5200"), "--no-collector.ascend", "--no-collector.numa",
		"--collector.interval=50ms", "--path.procfs="+string(procfs), "--kubernetes.pod-logs="+podLogs(t), "--config.file="+config)
	var got []string
	defer func() { t.Logf("at last %q", got) }()
	waitFor(t, "each has its own card and the worker's", func() bool {
		_, body := p.get(t, "/metrics")
		got = nil
		for line := range strings.Lines(body) {
			if rest, ok := strings.CutPrefix(line, `accelerator_probe_target_device_info{device="`); ok {
				card, rest, _ := strings.Cut(rest, `",target="`)
				target, _, _ := strings.Cut(rest, `"`)
				got = append(got, target+" "+card)
			}
		}
		return cmp.Equal([]string{"a 0", "a 2", "b 1", "b 2"}, got, cmpopts.SortSlices(strings.Compare))
	})
}
