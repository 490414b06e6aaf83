package metax_test

import (
	"path/filepath"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// After lost lines no card of a real output has what is another's. Of lost bytes a
// few join two rows into one that looks whole.
func TestLostPartsOfCaptures(t *testing.T) {
	needCaptures(t)
	tried, wrong := 0, 0
	for name := range tables() {
		loss := modeltest.Lose(t, modeltest.Read(t, filepath.Join(captures, name)), 499, metax.ParseTable)
		for _, l := range loss.ByLines {
			t.Errorf("%s %s", name, l)
		}
		tried, wrong = tried+loss.Tried, wrong+len(loss.ByBytes)
	}
	t.Logf("%d of %d losses show a card with what is not its own", wrong, tried)
	if 500*wrong > tried {
		t.Errorf("%d of %d losses show a card with what is not its own", wrong, tried)
	}
}
