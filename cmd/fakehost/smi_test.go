package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user who breaks a card by hand would notice: a file that does nothing, a
// fault that outlives it, a mistake that nobody says.
func TestCardFaultsFromTheStateFolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAKEHOST_STATE", dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	call := func(args ...string) (string, int) {
		var out bytes.Buffer
		status := run(append([]string{"fakehost"}, args...), &out, &out)
		return out.String(), status
	}
	for _, c := range []struct {
		file, text string
		call       []string
		has, lacks string
		status     int
	}{
		{"mx-smi.card", "2 unhealthy\n", []string{"mx-smi"}, "Attached GPUs                                     : 7", "0000:21:00.0", 0},
		{"mx-smi.card", "2 unhealthy\n", []string{"mx-smi", "-L"}, "Not Available(Layout Node Not Found)", "GPU-7c1e0202-", 0},
		{"mx-smi.card", "2 unhealthy\n", []string{"npu-smi", "info"}, "OK", "Alarm", 0},
		{"npu-smi.card", "3 unhealthy Critical\n", []string{"npu-smi", "info"}, "Critical", "Alarm", 0},
		{"mx-smi.card", "0 hot 93\n", []string{"mx-smi"}, "93C", "105C", 0},
		{"mx-smi.card", "0 burnt\n", []string{"mx-smi"}, `no kind "burnt"`, "Attached", 3},
		{"npu-smi.card", "9 hot\n", []string{"npu-smi", "info"}, "there is no card 9", "910B4", 3},
		{"mx-smi.card", "", []string{"mx-smi"}, "Sliced GPU", "Not Available", 0},
		{"mx-smi.processes", "2 15652 python 60032\n", []string{"mx-smi"}, "  2                    15652         python                       60032", "no process found", 0},
		{"npu-smi.processes", "3 15652 python 60032\n", []string{"npu-smi", "info"}, "15652", "process found in NPU 3", 0},
		{"mx-smi.processes", "2 15652 python\n", []string{"mx-smi"}, `must be such as "0 15652 python 60032"`, "Attached", 3},
		{"mx-smi.processes", "2 0 python 1\n", []string{"mx-smi"}, "PID and MiB must be numbers", "Attached", 3},
		{"mx-smi.processes", "8 7 python 1\n", []string{"mx-smi"}, "there is no card 8", "Attached", 3},
	} {
		write("mx-smi.card", "")
		write("npu-smi.card", "")
		write("mx-smi.processes", "")
		write("npu-smi.processes", "")
		write(c.file, c.text)
		out, status := call(c.call...)
		if status != c.status || !strings.Contains(out, c.has) || strings.Contains(out, c.lacks) {
			t.Errorf("%q in %s, %v: status %d, want %d, %q in and %q not in\n%s", c.text, c.file, c.call, status, c.status, c.has, c.lacks, out)
		}
	}
}

func TestEachLayoutHasAMachine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FAKEHOST_STATE", dir)
	for layout, name := range map[string]string{"310p-25.5": "310P3", "910b-23.0": "910B4", "a3-25.2": "Ascend910", "950-25.6": "910B4"} {
		if err := os.WriteFile(filepath.Join(dir, "npu-smi.layout"), []byte(layout), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if status := run([]string{"npu-smi", "info"}, &out, &out); status != 0 || !strings.Contains(out.String(), name) {
			t.Errorf("%s: status %d, want %s in\n%s", layout, status, name, out.String())
		}
	}
}
