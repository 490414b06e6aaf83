package collector

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// A label must be short, say that it was shortened, and stay another one than that
// of any other text.
func TestLabel(t *testing.T) {
	long := strings.Repeat("a", 5000)
	seen := map[string]string{}
	for _, text := range []string{
		"", "C500", strings.Repeat("b", 196), strings.Repeat("b", 197), strings.Repeat("b", 200), strings.Repeat("b", 201),
		long, long + "1", long + "2", labelValue(long), labelValue(long)[:196], strings.Repeat("曦", 60), strings.Repeat("曦", 70), "x" + strings.Repeat("曦", 70), "xy" + strings.Repeat("曦", 70),
		strings.Repeat("\U0001F600", 60), strings.Repeat("\x80", 300),
	} {
		got := labelValue(text)
		if len(got) > 200 || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%.20q… of %d bytes gives %d bytes: %q", text, len(text), len(got), got)
		}
		if (got != text) != (len(text) > 196) || got != text && !strings.Contains(got, "…") {
			t.Errorf("%.20q… of %d bytes gives %q", text, len(text), got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%q is the label of two texts, of %d and %d bytes", got, len(text), len(other))
		}
		seen[got] = text
	}
}

// gathered polls a vendor, with answers that edit changes, and returns what a scrape gets.
func gathered(t *testing.T, vendor, tool string, edit func(args string, out []byte) []byte) (families []*dto.MetricFamily) {
	t.Helper()
	answer := machine(t, tool)
	edited := func(ctx context.Context, args []string) (process.Output, error) {
		out, err := answer(ctx, args)
		out.Stdout = edit(strings.Join(args, " "), out.Stdout)
		return out, err
	}
	synctest.Test(t, func(t *testing.T) {
		c := newScripted(options(), VendorOptions{Vendor: vendorNamed(vendor), Command: tool}, &scripted{answer: edited}, nil)
		start(t, c)
		time.Sleep(15 * time.Second)
		var err error
		if families, err = c.Gather(); err != nil {
			t.Fatal(err)
		}
	})
	checkLabels(t, families)
	return families
}

// labelsOf are the values of labels, by the names of metric and label.
func labelsOf(families []*dto.MetricFamily) map[string][]string {
	all := map[string][]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				name := f.GetName() + " " + l.GetName()
				all[name] = append(all[name], l.GetValue())
			}
		}
	}
	return all
}

func checkLabels(t testing.TB, families []*dto.MetricFamily) {
	t.Helper()
	for name, values := range labelsOf(families) {
		most := 200
		if strings.HasSuffix(name, " cpus") || strings.HasSuffix(name, " mems") {
			most = 4096
		}
		for _, v := range values {
			if len(v) > most || !utf8.ValidString(v) {
				t.Errorf("%s is a label of %d bytes", name, len(v))
			}
		}
	}
}

// One name of 5,000 bytes made Prometheus drop the whole scrape. Names that agree in
// their beginnings are still two series.
func TestLongNamesAreBounded(t *testing.T) {
	long := strings.Repeat("曦", 1700)
	families := gathered(t, "metax", "mx-smi", func(args string, out []byte) []byte {
		for _, word := range []string{"C500", "VLLM::EngineCor", "2.2.9", "3.9.12", "3.5.1.8", "1.31.4.0", "GPU-7c1e"} {
			out = bytes.ReplaceAll(out, []byte(word), []byte(long+word))
		}
		if args == "topo -n" {
			out = bytes.ReplaceAll(out, []byte("NIC0: mlx5_0"), []byte("NIC0: "+long+"0"))
		}
		return out
	})
	labels := labelsOf(families)
	for name, least := range map[string]int{
		"accelerator_info name": 8, "accelerator_info uuid": 8, "accelerator_process_memory_used_bytes process": 4,
		"accelerator_tool_info driver_version": 1, "accelerator_tool_info tool_version": 1, "accelerator_link_info peer": 8,
	} {
		if n := strings.Count(strings.Join(labels[name], ""), "…"); n < least {
			t.Errorf("%d shortened labels %s, want %d", n, name, least)
		}
	}
}

// A part of a list of CPUs is another list, which accelbench placement would take for all of it.
func TestListsOfCPUsAreWhole(t *testing.T) {
	everySecond := func(cpus int) string {
		list := "0"
		for cpu := 2; cpu < cpus; cpu += 2 {
			list += fmt.Sprintf(",%d", cpu)
		}
		return list
	}
	for cpus, want := range map[int]int{256: 8, 2048: 0} { // of 2,048 it has 4,564 bytes, more than a label may
		list := everySecond(cpus)
		families := gathered(t, "metax", "mx-smi", func(args string, out []byte) []byte {
			if args == "topo -n" {
				out = bytes.ReplaceAll(out, []byte("0-1\n"), []byte(list+"\n"))
			}
			return out
		})
		got := labelsOf(families)["accelerator_cpu_affinity_info cpus"]
		if diff := cmp.Diff(slices.Repeat([]string{list}, want), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("every second of %d CPUs (-want +got):\n%s", cpus, diff)
		}
	}
}

// Two NICs whose names differ only behind 200 bytes, and one called as the first is shown.
func TestNamesWithOneBeginningAreTwoSeries(t *testing.T) {
	long := strings.Repeat("n", 300)
	families := gathered(t, "metax", "mx-smi", func(args string, out []byte) []byte {
		if args != "topo -n" {
			return out
		}
		text := strings.ReplaceAll(string(out), "NIC0", "NIC0 NIC1 NIC2")
		text = strings.ReplaceAll(text, "NIC0 NIC1 NIC2: mlx5_0", fmt.Sprintf("NIC0: %s0\n NIC1: %s1\n NIC2: %s", long, long, labelValue(long+"0")))
		var lines []string
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) == 11 && strings.HasPrefix(f[0], "GPU") { // name, 8 cards, the NIC, node or CPUs
				line = strings.Join(append(f[:9:9], f[9], f[9], f[9], f[10]), " ") + "\n"
			} else if len(f) == 12 && strings.HasPrefix(f[0], "GPU") {
				line = strings.Join(append(f[:9:9], f[9], f[9], f[9], f[10], f[11]), " ") + "\n"
			}
			lines = append(lines, line)
		}
		return []byte(strings.Join(lines, ""))
	})
	peers := map[string]bool{}
	for _, peer := range labelsOf(families)["accelerator_link_info peer"] {
		if strings.HasPrefix(peer, "nnn") {
			peers[peer] = true
		}
	}
	if len(peers) != 3 {
		t.Errorf("three NICs are %d peers: %v", len(peers), peers)
	}
}

// A table of ten thousand made-up processes is not ten thousand series.
func TestMadeUpRowsAreNotSeries(t *testing.T) {
	families := gathered(t, "metax", "mx-smi", func(args string, out []byte) []byte {
		if args != "" {
			return out
		}
		var rows strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&rows, "|  0                  %7d         made-up                      1              |\n", i)
		}
		return bytes.Replace(out, []byte("Usage(MiB)     |\n"), []byte("Usage(MiB)     |\n"+rows.String()), 1)
	})
	processes := 0
	for _, f := range families {
		if f.GetName() == "accelerator_process_memory_used_bytes" {
			processes = len(f.GetMetric())
		}
	}
	if processes != 1024 {
		t.Errorf("%d series of processes", processes)
	}
}
