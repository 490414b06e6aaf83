package main

import (
	"os"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/cmd/fakehost/smi"
)

// Without a folder the tools print an idle machine without faults, and the server says that they do.
func TestWithoutAStateFolder(t *testing.T) {
	t.Setenv("FAKEHOST_STATE", "")
	if out, status := ask("mx-smi"); status != 0 || len(out) < 1000 {
		t.Errorf("status %d, printed %s", status, out)
	}
	if err := state(os.DevNull).writeLoad(smi.Load{}); err == nil {
		t.Error("the load went somewhere")
	}
}
