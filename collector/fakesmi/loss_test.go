package fakesmi_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// A user would notice one card's temperature under another's name after an output
// lost lines or bytes. What nothing in the text can tell is counted here: bytes whose
// loss joins two rows into one that is no shorter, and chips of the same NPU.
func TestLostPartsMixNoCards(t *testing.T) {
	load := fakesmi.Load{Busy: 0.5, Cache: 0.3, PID: 4242, Process: "VLLM::EngineCor"}
	type count struct{ Lines, Bytes int }
	got := map[string]count{}
	try := func(name string, out []byte, parse modeltest.Parse) {
		loss := modeltest.Lose(t, out, 311, parse)
		got[name] = count{Lines: len(loss.ByLines), Bytes: len(loss.ByBytes)}
		for _, l := range append(loss.ByLines, loss.ByBytes...) {
			t.Logf("%s %s", name, l)
		}
		if loss.Tried < 300 {
			t.Errorf("%s: only %d losses were tried", name, loss.Tried)
		}
	}
	for _, l := range fakesmi.MetaXLayouts() {
		var b bytes.Buffer
		if err := l.Print(&b, l.Reduce(fakesmi.MetaXMachine(l.Version, load)), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		try(l.Name(), b.Bytes(), metax.ParseTable)
	}
	for _, l := range fakesmi.AscendLayouts() {
		chips := 1
		if l.Name[0] == 'a' {
			chips = 2
		}
		var b bytes.Buffer
		if err := l.Print(&b, l.Reduce(fakesmi.AscendMachine(l.Version, chips, load))); err != nil {
			t.Fatal(err)
		}
		try(l.Name, b.Bytes(), ascend.ParseInfo)
	}
	want := map[string]count{
		"2.1.6": {}, "2.1.12": {}, "2.2.4": {}, "2.2.8": {}, "2.2.9": {}, "ht-2.2.9": {},
		"310-21.0.3": {}, "310p-25.5": {}, "910a-21.0.3": {}, "910b-23.0": {}, "950-25.6": {},
		"a3-25.2": {Lines: 4, Bytes: 11}, "a3-26.0": {Lines: 4}, // one for each NPU: of two dies the first one's second row
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("losses that show a card with what is not its own, known (-) and found (+):\n%s", diff)
	}
}
