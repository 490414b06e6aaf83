package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

// setState makes a state folder with these files: name, text, name, text.
func setState(t *testing.T, files ...string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("FAKEHOST_STATE", dir)
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// ask calls a tool with arguments parted by blanks.
func ask(call string) (text string, status int) {
	var out bytes.Buffer
	status = run(strings.Fields(call), &out, &out)
	return out.String(), status
}

// A user who breaks a card or a tool by hand would notice a file that does nothing, a fault
// that hits others too, and a mistake that nobody says.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		file, text, call string
		has, lacks       string
		status           int
	}{
		{"mx-smi.card", "2 unhealthy\n", "mx-smi", "Attached GPUs                                     : 7", "0000:21:00.0", 0},
		{"mx-smi.card", "2 unhealthy\n", "mx-smi -L", "Not Available(Layout Node Not Found)", "GPU-7c1e0202-", 0},
		{"mx-smi.card", "2 unhealthy\n", "npu-smi info", "OK", "Alarm", 0},
		{"mx-smi.card", "0 hot 93\n", "mx-smi", "93C", "105C", 0},
		{"mx-smi.card", "hot\n", "mx-smi --show-clk-tr", "Chip Over Temperature                     : Active", "Chip Over Temperature                     : Not", 0},
		{"mx-smi.card", "memory_full\n", "mx-smi", "65496/65536", "Not", 0},
		{"mx-smi.card", "1 ecc\n", "mx-smi --count-ecc", "DRAM Correctable                          : 12", "DRAM Correctable                          : 13", 0},
		{"mx-smi.card", "0 burnt\n", "mx-smi", `no kind "burnt"`, "Attached", 3},
		{"npu-smi.card", "3 unhealthy Critical\n", "npu-smi info", "Critical", "Alarm", 0},
		{"npu-smi.card", "3 unhealthy\n", "npu-smi info -i 3 -t health -c 0", "80E18401", "OK", 0},
		{"npu-smi.card", "3 ecc\n", "npu-smi info -t ecc -i 3", "HBM Single Bit Error Count               : 12", "Error Count               : 0", 0},
		{"npu-smi.card", "3 ecc\n", "npu-smi info -t ecc -i 4", "HBM Single Bit Error Count               : 0", ": 12", 0},
		{"npu-smi.card", "3 port_down\n", "hccn_tool -i 3 -link -g", "link status: DOWN", "UP", 0},
		{"npu-smi.card", "3 port_down\n", "hccn_tool -link_stat -g -i 3", "link down count     : 1", "NA", 0},
		{"npu-smi.card", "3 optics\n", "hccn_tool -i 3 -optical -g", "Rx Power1            : 0.0921 mW", "0.0001", 0},
		{"npu-smi.card", "9 hot\n", "npu-smi info", "there is no card 9", "910B4", 3},
		{"npu-smi.card", "1 hot much\n", "npu-smi info", "no whole number of degrees", "910B4", 3},
		{"mx-smi.processes", "2 15652 python 60032\n", "mx-smi", "  2                    15652         python                       60032", "no process found", 0},
		{"npu-smi.processes", "3 15652 python 60032\n", "npu-smi info", "15652", "process found in NPU 3", 0},
		{"mx-smi.processes", "2 15652 python\n", "mx-smi", `must look like "0 15652 python 60032"`, "Attached", 3},
		{"mx-smi.fault", "card_lost", "mx-smi", "0000:41:00.0", "0000:49:00.0", 0},
		{"mx-smi.fault", "card_lost", "mx-smi -L", "0000:49:00.0", "Not", 0},
		{"hy-smi.card", "2 unhealthy\n", "hy-smi --healthcheck", "0000:29:00.0         : Not Healthy", "Alarm", 0},
		{"hy-smi.card", "1 ecc\n", "hy-smi --showrasinfo all", "HCU[1]\t\t: Block umc is: ENABLED (ue: 1, ce: 12)", "ce: 13", 0},
		{"hy-smi.processes", "2 15652 python 60032\n", "hy-smi --showpids", "PID: 15652", "No KFD", 0},
		{"ixsmi.card", "2 unhealthy\n", "ixsmi", "| N/A  0C    P0    65535W / 350 |", "Alarm", 0},
		{"ixsmi.card", "1 ecc\n", "ixsmi -q -x", "<single_bit>12<", "<single_bit>13<", 0},
		{"ixsmi.processes", "2 15652 python 30032\n", "ixsmi -q -x", "<used_memory>30032 MiB<", "<pid>1<", 0},
		{"xpu_smi.card", "2 hot 93\n", "xpu_smi", "93C", "105C", 0},
		{"xpu_smi.card", "1 ecc\n", "xpu_smi -q", "DRAM Correctable              : 12", ": 13", 0},
		{"xpu_smi.processes", "2 15652 python 60032\n", "xpu_smi", "  2   N/A  N/A     15652      C   python ", "No running", 0},
		{"mthreads-gmi.card", "1 hot 98\n", "mthreads-gmi", "|98C   YES", "105C", 0},
		{"mthreads-gmi.card", "1 hot 98\n", "mthreads-gmi --query --json", `"GPU Current Temp": "98C"`, "105C", 0},
		{"mthreads-gmi.processes", "2 15652 python 60032\n", "mthreads-gmi", "2    15652         python", "No running", 0},
		{"efsmi.card", "2 unhealthy\n", "efsmi -q", "Health                  : False", "Alarm", 0},
		{"efsmi.card", "0 hot 93\n", "efsmi", "93℃", "105℃", 0},
		{"efsmi.fault", "card_lost", "efsmi -L", "TPUH41007077", "DEV ID", 0},
		{"npu-smi.fault", "ecc exit", "npu-smi info -t ecc -i 0", "", "NPU", 1},
		{"npu-smi.fault", "ecc exit", "npu-smi info -t usages -i 0", "NPU", "-", 0},
		{"npu-smi.fault", "ecc melt", "npu-smi info", "no such fault", "910B4", 3},
		{"npu-smi.fault", "ecc", "npu-smi info", "no such fault", "910B4", 3},
		{"npu-smi.fault", "hang 2s", "npu-smi info", "hang takes no argument", "910B4", 3},
		{"npu-smi.fault", "slow soon", "npu-smi info", "slow takes a time such as 500ms", "910B4", 3},
		{"npu-smi.fault", "ecc card_lost", "npu-smi info", "card_lost is for the whole tool", "910B4", 3},
	} {
		setState(t, c.file, c.text)
		out, status := ask(c.call)
		if status != c.status || !strings.Contains(out, c.has) || strings.Contains(out, c.lacks) {
			t.Errorf("%q in %s, %s: status %d, want %d, %q in and %q not in\n%s", c.text, c.file, c.call, status, c.status, c.has, c.lacks, out)
		}
	}
}

func TestSlowTool(t *testing.T) {
	for _, c := range []struct {
		file, text, call string
		took             time.Duration
	}{
		{"npu-smi.fault", "slow", "npu-smi info", 8 * time.Second},
		{"npu-smi.fault", "card 3 slow 2s", "npu-smi info -t usages -i 3", 2 * time.Second},
		{"npu-smi.fault", "card 3 slow 2s", "npu-smi info -t usages -i 4", 0},
		{"mx-smi.fault", "counters slow 100ms", "mx-smi --show-pcie", 100 * time.Millisecond},
		{"mx-smi.fault", "counters slow 100ms", "mx-smi -s", 0},
	} {
		setState(t, c.file, c.text)
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if out, status := ask(c.call); status != 0 || time.Since(began) != c.took {
				t.Errorf("%q, %s: status %d after %v, want %v\n%s", c.text, c.call, status, time.Since(began), c.took, out)
			}
		})
	}
}

// A collector that learns which commands a host has would notice a refusal in other words, or
// with another status.
func TestRefusals(t *testing.T) {
	const npuUsage = "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n"
	for call, want := range map[string]struct {
		text   string
		status int
	}{
		"mx-smi --show-nothing":              {"PARSE ERROR: Argument: --show-nothing\n             Couldn't find match for argument\n", 1},
		"npu-smi info -t sio-info -i 3 -c 0": {"This device does not support querying sio-info.\n", 0},
		"npu-smi info -t nothing -i 0":       {"Error parameter of -t\n" + npuUsage, 1},
		"npu-smi info -t ecc -i 9":           {"Invalid card id.\nError parameter of -i\n" + npuUsage, 1},
		"hccn_tool -i 9 -link -g":            {"The device is not exist!\n", 1},
		"hccn_tool -g -dev_info -i 3":        {"The command is not supported on this product.\n", 13},
		"hy-smi --showbw":                    {"usage: hy-smi [-h] [--show...]\nhy-smi: error: unrecognized arguments: --showbw\n", 2},
		"xpu_smi -r":                         {"xpu_smi: unrecognized option '-r'\nUsage: xpu-smi [options]\n", 1},
		"mthreads-gmi -q":                    {"Error: the requested operation is not available on target device\n", 1},
		"efsmi -r":                           {"efsmi: unrecognized option '-r'\n", 1},
		"hccn_tool -i 3 -link -s":            {"The command is not supported on this product.\n", 13},
	} {
		setState(t)
		if out, status := ask(call); out != want.text || status != want.status {
			t.Errorf("%s: status %d, want %d, %q, want %q", call, status, want.status, out, want.text)
		}
	}
}

// Somebody who reads watch line by line would notice a header in each round, and a round
// that comes late or never.
func TestWatchGoesOn(t *testing.T) {
	setState(t)
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		ended := make(chan int, 1)
		go func() { ended <- run(strings.Fields("npu-smi info watch"), write, io.Discard) }()
		began, text := time.Now(), make([]byte, 16<<10)
		for round := range 3 {
			n, err := read.Read(text)
			header := strings.HasPrefix(string(text[:n]), "NpuID")
			if lines := bytes.Count(text[:n], []byte("\n")); err != nil || header != (round == 0) || header && lines != 9 || !header && lines != 8 {
				t.Fatalf("%v in round %d:\n%s", err, round, text[:n])
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("three rounds took %v", took)
		}
		read.Close()
		if status := <-ended; status == 0 {
			t.Error("it ended well although nobody reads")
		}
	})
}

// A counter that goes back looks like a driver that was loaded again: a server that stops must
// not do that.
func TestCountersGrow(t *testing.T) {
	setState(t)
	st := state(os.Getenv("FAKEHOST_STATE"))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC)))
		last := 0
		for step := range 20 {
			l := smi.Load{Busy: 0.5, PID: 1}
			if step > 10 {
				l = smi.Load{}
			}
			if err := st.writeLoad(l); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // the server counts as gone after five
			out, _ := ask("hccn_tool -i 3 -stat -g")
			_, text, _ := strings.Cut(out, "mac_tx_total_oct_num:")
			var now int
			if _, err := fmt.Sscan(text, &now); err != nil || now <= last {
				t.Fatalf("%v: from %d to %d in step %d", err, last, now, step)
			}
			last = now
		}
	})
}
