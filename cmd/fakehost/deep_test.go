package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// host is a state folder with what a test wrote there.
func host(t *testing.T, files ...string) {
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
func ask(call string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = run(strings.Fields(call), &out, &errs)
	return out.String(), errs.String(), status
}

// A collector that learns which commands a host has would notice: a refusal in other
// words, on the other stream or with another status, an answer where there is none.
func TestDeeperCommands(t *testing.T) {
	for _, c := range []struct {
		layout, call string
		out, errs    string // in what is printed; "" for nothing on that stream
		status       int
	}{
		{"", "mx-smi --show-pcie --count-ecc", "    ECC Errors\n        SRAM Correctable                          : 0 \n", "", 0},
		{"", "mx-smi --count-ecc --show-nothing", "PARSE ERROR: Argument: --show-nothing\n             Couldn't find", "", 1},
		{"mx 2.1.12", "mx-smi --show-pcie --count-ecc", "PARSE ERROR: Argument: --count-ecc\n", "", 1},
		{"mx 2.1.12", "mx-smi --show-pcie", "Pcie Info", "", 0},
		{"mx 2.2.4", "mx-smi -j", "PARSE ERROR: Argument: -j\n", "", 1},
		{"", "mx-smi -s", "Board Temperature", "", 0},
		{"", "npu-smi info -t usages -i 3", "\tNPU ID                         : 3\n", "", 0},
		{"", "npu-smi info -i 3 -t health -c 0", "Health Status                  : OK", "", 0},
		{"", "npu-smi info -t hccs -i 3", "Must input parameter of chip id.\n", "", 1},
		{"", "npu-smi info -t hccs -i 3 -c 0", "\thccs lane mode                 : [4       ", "", 0},
		{"", "npu-smi info -t sio-info -i 3 -c 0", "This device does not support querying sio-info.\n", "", 0},
		{"npu 310p-25.5", "npu-smi info -t sio-info -i 0 -c 0", "This device does not support querying sio-info.\n", "", 0},
		{"npu a3-26.0", "npu-smi info -t sio-info -i 0 -c 1", "\tTX Error Count : 0\n", "", 0},
		{"npu 950-25.6", "npu-smi info -t sensors -i 0", "Soc Max Temperature (C)", "", 0},
		{"npu 950-25.6", "npu-smi info -t sensors -i 0 -c 0", "Error parameter of -c\n", "", 1},
		{"", "npu-smi info -t ecc -i 9", "Invalid card id.\nError parameter of -i\nUsage: npu-smi info", "", 1},
		{"", "npu-smi info -t freq -i 0", "Error parameter of -t\n", "", 1},
		{"", "npu-smi info -t ecc", "Error parameter of -i\n", "", 1},
		{"", "npu-smi info watch -d 0", "Error parameter of -d\n", "", 1},
		{"", "hccn_tool -i 3 -link -g", "link status: UP\n", "", 0},
		{"", "hccn_tool -g -stat -i 3", "packet statistics:\n", "", 0},
		{"", "hccn_tool -i 9 -link -g", "", "The device is not exist!\n", 1},
		{"", "hccn_tool -i 3 -link -s", "Error parameter of", "", 1},
		{"", "hccn_tool -g -dev_info -i 3", "The command is not supported on this product.\n", "", 13},
		{"npu 310p-25.5", "hccn_tool -i 0 -link -g", "The command is not supported on this product.\n", "", 13},
		{"npu 950-25.6", "hccn_tool -g -dev_info -i 3", "| UDie ID | Port ID |", "", 0},
		{"npu 950-25.6", "hccn_tool -g -speed -i 3 -u 0 -p 5", "| 400 G   |", "", 0},
		{"npu 950-25.6", "hccn_tool -g -link -i 3 -u 1 -p 5", "", "The port is not exist!\n", 1},
		{"npu 950-25.6", "hccn_tool -g -optical -i 3 -u 0 -p 5", "", "Optical module is not present.\n", 20},
		{"npu a3-26.0", "hccn_tool -i 7 -optical -g", "present              : present\n", "", 0},
	} {
		host(t)
		if tool, layout, ok := strings.Cut(c.layout, " "); ok {
			host(t, tool+"-smi.layout", layout)
		}
		out, errs, status := ask(c.call)
		if status != c.status || !strings.Contains(out, c.out) || (c.out == "") != (out == "") || errs != c.errs {
			t.Errorf("%s (%s): status %d, want %d, stderr %q, want %q, and %q in\n%s", c.call, c.layout, status, c.status, errs, c.errs, c.out, out)
		}
	}
}

// The -j of a host must be JSON after its first line, with an object for each card.
func TestJSONIsWhole(t *testing.T) {
	host(t, "mx-smi.card", "2 unhealthy\n1 ras\n")
	out, _, _ := ask("mx-smi -j")
	var all map[string]any
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &all); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	card, _ := all["0000:19:00.0"].(map[string]any)
	counts, _ := card["ras_count"].(map[string]any)
	if errors, _ := counts["corrected_error"].(map[string]any); len(errors) == 0 || all["0000:21:00.0"] != nil || all["attached_gpus"] != 7.0 {
		t.Errorf("no errors of card 1, or card 2 that is not available, in\n%s", out)
	}
}

// Somebody who reads watch line by line would notice: a header in each round, a round
// that comes late or never, a load that stays what it was.
func TestWatchGoesOn(t *testing.T) {
	host(t, "npu-smi.layout", "a3-26.0")
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		ended := make(chan int, 1)
		go func() { ended <- run(strings.Fields("npu-smi info watch -d 2"), write, io.Discard) }()
		began, lines := time.Now(), bufio.NewScanner(read)
		for i := range 1 + 3*8 {
			if !lines.Scan() || strings.HasPrefix(lines.Text(), "NpuID") != (i == 0) {
				t.Fatalf("line %d is %q", i, lines.Text())
			}
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("three rounds took %v", took)
		}
		read.Close()
		if status := <-ended; status == 0 {
			t.Error("it ended well although nobody reads")
		}
	})
}

func mustState(t *testing.T) state {
	t.Helper()
	st, err := openState()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// hccn_tool is not for two at a time.
func TestNetworkToolIsBusy(t *testing.T) {
	host(t)
	unlock, err := mustState(t).lockNetwork()
	if err != nil {
		t.Fatal(err)
	}
	if out, errs, status := ask("hccn_tool -i 0 -link -g"); out != "hccn_tool is busy, please try again.\n" || errs != "" || status != 11 {
		t.Errorf("%q, %q, %d", out, errs, status)
	}
	if out, _, status := ask("npu-smi info -t ecc -i 0"); status != 0 {
		t.Errorf("npu-smi waits for it: %d\n%s", status, out)
	}
	unlock()
	if out, _, _ := ask("hccn_tool -i 0 -link -g"); out != "link status: UP\n" {
		t.Errorf("still busy: %q", out)
	}
}

// A sick card answers hccn_tool late, on stderr.
func TestNetworkToolOfASickCard(t *testing.T) {
	host(t, "npu-smi.card", "3 unhealthy Critical\n4 unhealthy Warning\n")
	synctest.Test(t, func(t *testing.T) {
		for device, want := range map[string]struct {
			took time.Duration
			errs string
		}{"3": {3 * time.Second, "Get device health status failed!\n"}, "4": {}} {
			began := time.Now()
			if _, errs, _ := ask("hccn_tool -i " + device + " -link -g"); errs != want.errs || time.Since(began) != want.took {
				t.Errorf("card %s: %q after %v, want %q after %v", device, errs, time.Since(began), want.errs, want.took)
			}
		}
	})
}

// Who tries what a slow or failing command costs would notice a fault that hits others too.
func TestFaultsOfOneCommand(t *testing.T) {
	for _, c := range []struct {
		file, text, call string
		took             time.Duration
		status           int
	}{
		{"npu-smi.fault", "ecc exit", "npu-smi info -t ecc -i 0", 0, 1},
		{"npu-smi.fault", "ecc exit", "npu-smi info -t usages -i 0", 0, 0},
		{"npu-smi.fault", "ecc exit", "npu-smi info", 0, 0},
		{"npu-smi.fault", "table exit_after", "npu-smi info", 0, 1},
		{"npu-smi.fault", "card 3 slow 2s", "npu-smi info -t usages -i 3", 2 * time.Second, 0},
		{"npu-smi.fault", "card 3 slow 2s", "npu-smi info -t usages -i 4", 0, 0},
		{"npu-smi.fault", "card 3 slow 2s", "npu-smi info", 0, 0},
		{"npu-smi.fault", "delay 500ms\necc exit", "npu-smi info -t ecc -i 0", 500 * time.Millisecond, 1},
		{"npu-smi.fault", "delay 500ms\necc exit", "npu-smi info", 500 * time.Millisecond, 0},
		{"npu-smi.fault", "slow", "npu-smi info", 8 * time.Second, 0},
		{"mx-smi.fault", "counters delay 100ms", "mx-smi --show-pcie", 100 * time.Millisecond, 0},
		{"mx-smi.fault", "counters delay 100ms", "mx-smi -s", 0, 0},
		{"hccn_tool.fault", "stat exit", "hccn_tool -i 0 -stat -g", 0, 1},
		{"hccn_tool.fault", "stat exit", "hccn_tool -i 0 -link -g", 0, 0},
		{"hccn_tool.fault", "no_device", "hccn_tool -i 0 -link -g", 0, 2},
	} {
		host(t, c.file, c.text)
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if out, _, status := ask(c.call); status != c.status || time.Since(began) != c.took {
				t.Errorf("%q, %s: status %d after %v, want %d after %v\n%s", c.text, c.call, status, time.Since(began), c.status, c.took, out)
			}
		})
	}
}

func TestBadToolFaultsAreSaid(t *testing.T) {
	for text, want := range map[string]string{
		"ecc":              "no fault named",
		"ecc melt":         `unknown fault "melt"`,
		"melt hang":        `unknown fault "melt"`,
		"hang 2s":          "hang takes nothing more",
		"delay":            "delay takes a time such as 500ms",
		"delay soon":       "delay takes a time such as 500ms",
		"slow -1s":         "slow takes a time",
		"ecc card_lost":    "card_lost is of the whole tool",
		"hang\ncard 3 bad": `reading the fault "card 3 bad"`,
	} {
		host(t, "npu-smi.fault", text)
		if out, _, status := ask("npu-smi info"); status != 3 || !strings.Contains(out, want) {
			t.Errorf("%q: status %d, want %q in %q", text, status, want, out)
		}
	}
	host(t, "mx-smi.fault", "card 3 slow")
	if out, _, status := ask("mx-smi"); status != 3 || !strings.Contains(out, "no call of mx-smi is about one card") {
		t.Errorf("status %d: %q", status, out)
	}
}

// A counter that goes back looks like a driver that was loaded again: neither a fault
// that ends nor a server that stops may do that, nor a tool that may not write.
func TestWhatWasCountedStays(t *testing.T) {
	host(t)
	st := mustState(t)
	if err := os.Mkdir(st.path("npu-smi.lock"), 0o755); err != nil { // a tool that finds it locks nothing, and writes nothing
		t.Fatal(err)
	}
	const ecc, hccs, links = "npu-smi info -t ecc -i 3", "npu-smi info -t hccs -i 3 -c 0", "hccn_tool -i 3 -link_stat -g"
	synctest.Test(t, func(t *testing.T) {
		serve := func(card string) {
			if err := os.WriteFile(st.path("npu-smi.card"), []byte(card), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(st.path("npu-smi.lock")); err != nil { // the server may write
				t.Fatal(err)
			}
			for range 300 {
				if err := st.writeLoad(fakesmi.Load{Busy: 0.5, PID: 1}); err != nil {
					t.Fatal(err)
				}
				st.keepLives()
				time.Sleep(200 * time.Millisecond)
			}
			st.endLoad()
			if err := os.Remove(st.path("npu-smi.lock")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(st.path("npu-smi.lock"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		serve("")
		wantCount(t, ecc, "HBM Single Bit Error Count               : 0\n")
		serve("3 ecc\n3 port_down\n")
		wantCount(t, ecc, "HBM Single Bit Error Count               : 42\n") // 12 at once, and a minute's
		wantCount(t, links, "[devid 3]link up count       : 1\n")
		wantCount(t, links, "[devid 3]link down count     : 1\n")
		packets, _, _ := ask(hccs)
		if n := packetsOf(t, packets); n < 1e6 {
			t.Errorf("only %d packets after two minutes of work, and the server has just stopped", n)
		}
		serve("")
		wantCount(t, ecc, "HBM Single Bit Error Count               : 42\n")
		wantCount(t, links, "[devid 3]link up count       : 2\n")
		time.Sleep(time.Hour)
		if later, _, _ := ask(hccs); packetsOf(t, later) <= packetsOf(t, packets) {
			t.Errorf("packets of the links after the server has stopped, and before:\n%s\n%s", later, packets)
		}
	})
}

func wantCount(t *testing.T, call, want string) {
	t.Helper()
	if out, _, _ := ask(call); !strings.Contains(out, want) {
		t.Errorf("%s has no %q:\n%s", call, want, out)
	}
}

// packetsOf are those that the first link has sent.
func packetsOf(t *testing.T, hccs string) int {
	t.Helper()
	_, behind, _ := strings.Cut(hccs, "hccs tx packets                : [")
	n, err := strconv.Atoi(strings.Fields(behind + " -")[0])
	if err != nil {
		t.Fatalf("%v\n%s", err, hccs)
	}
	return n
}

// In a container the tools cannot write: without the server's hand no fault would ever count.
func TestTheServerKeepsLives(t *testing.T) {
	host(t, "npu-smi.card", "3 ecc\n", "mx-smi.card", "2 ecc\n")
	standIn, err := fakevllm.New(fakevllm.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	st := mustState(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		new(server).share(ctx, st, standIn, log.NewNopLogger())
	})
	for _, tool := range []string{"mx-smi", "npu-smi"} {
		var l fakesmi.Life
		if data, err := os.ReadFile(st.path(tool + ".life")); err != nil || json.Unmarshal(data, &l) != nil || len(l.Troubles) != 1 {
			t.Errorf("%s: %v, %s", tool, err, data)
		}
	}
}
