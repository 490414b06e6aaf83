//go:build e2e

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// twoNodes is the page of an exporter on a machine of two nodes with a CPU each, whose
// card is on the first.
const twoNodes = `accelerator_numa_cpus{node="0"} 1
accelerator_numa_cpus{node="1"} 1
accelerator_numa_cpu_list_info{node="0",cpus="0"} 1
accelerator_numa_cpu_list_info{node="1",cpus="1"} 1
accelerator_numa_memory_total_bytes{node="0"} 1e9
accelerator_numa_memory_total_bytes{node="1"} 1e9
accelerator_numa_node{vendor="metax",device="0"} 0
`

// numactl stands in for the tool where there is one node only.
const numactl = `#!/bin/sh
case $1 in
--cpunodebind=*) cpu=${1#*=}; shift 2; exec taskset -c "$cpu" "$@" ;;
--interleave=all) shift; exec "$@" ;;
esac
exit 2
`

// bindings compares the bindings of a server that takes twice as long off the node of its
// cards, and of one to which they are all the same. What is said of smaller differences,
// and how often, is tested without a clock in bench/compare.
func (b *bench) bindings(t *testing.T) {
	if out, err := exec.Command("taskset", "-c", "0,1", "true").CombinedOutput(); err != nil {
		t.Skipf("CPUs 0 and 1 are needed: %v %s", err, out)
	}
	files := map[string]string{
		"bin/numactl":                           numactl,
		"sys/devices/system/node/node0/cpulist": "0\n",
		"sys/devices/system/node/node1/cpulist": "1\n",
	}
	for name, text := range files {
		noError(t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
		noError(t, os.WriteFile(b.path(name), []byte(text), 0o755))
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(twoNodes))
	}))
	defer page.Close()
	for _, tt := range []struct {
		penalty   string
		low, high float64 // of the gain in the verdict, %
	}{{"2", 30, 60}, {"1", 0, 5}} {
		t.Run("penalty "+tt.penalty, func(t *testing.T) {
			out := b.compareBindings(t, page.URL, tt.penalty)
			gain := gainFound(t, out)
			if gain < tt.low || gain > tt.high {
				t.Errorf("found a gain of %g %%, want %g to %g:\n%s", gain, tt.low, tt.high, out)
			}
		})
	}
}

func (b *bench) compareBindings(t *testing.T, page, penalty string) string {
	t.Helper()
	address := freeAddress(t)
	command := fmt.Sprintf("{} %s vllm --listen-address=%s --speed=1 --numa-penalty=%s --numa-node=0 --path.sysfs=%s", b.path("fakehost"), address, penalty, b.path("sys"))
	cmd := exec.Command(b.path("accelbench"), "compare", "--bindings="+command, "--exporter="+page,
		"--", "--backend=openai-chat", "--base-url=http://"+address, "--dataset-path="+b.path("open_qa.jsonl"), "--max-concurrency=4", "--num-prompts=8", "--output-len=8", "--quiet")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+b.path("state"), "PATH="+b.path("bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "4 sides, 5 runs of each, 20 starts of the server; "; !strings.Contains(string(out), want) {
		t.Errorf("the plan is not printed:\n%s", out)
	}
	return string(out)
}

// gainFound is the gain that the verdict names for the binding to the node of the cards, 0
// where it names none.
func gainFound(t *testing.T, out string) float64 {
	t.Helper()
	if strings.Contains(out, "\nno binding ") {
		return 0
	}
	m := regexp.MustCompile(`(?m)^bound to node 0 is (\S+) % \[\S+ %, \S+ %\] faster in TPOT p50 than unbound`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no verdict:\n%s", out)
	}
	gain, err := strconv.ParseFloat(m[1], 64)
	noError(t, err)
	return gain
}
