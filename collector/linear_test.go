package collector

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// A tool that prints its answer again and again, as one that is asked in a loop by mistake, would take the exporter's
// processor from the model server on the same host.
func TestParsingIsLinear(t *testing.T) {
	cards := map[string][]model.Device{
		"metax":  devs(t, "0 0000:08:00.0,1 0000:09:00.0"),
		"ascend": devs(t, "5 5.0 hbm"),
		"nvidia": {{ID: "0", UUID: "GPU-4f0c0000-11aa-4c3e-8f21-0d3c5b7a9e00"}},
		"hygon":  {{ID: "0"}},
	}
	for _, v := range Vendors() {
		files := slices.Concat(
			modeltest.Glob(t, filepath.Join(v.Name, "testdata", "*.txt")), modeltest.Glob(t, filepath.Join(fixtures, v.Name+"-*.txt")))
		commands := slices.Concat([]model.Command{v.Table}, v.Commands)
		for _, c := range v.Commands {
			for _, file := range files {
				if c.More != nil {
					commands = append(commands, c.More(modeltest.Read(t, file), cards[v.Name][0])...)
				}
			}
		}
		known := map[string]bool{}
		for _, c := range commands {
			name := fmt.Sprint(v.Name, " ", c.Name, " ", c.Args(cards[v.Name][0]))
			if known[name] {
				continue
			}
			known[name] = true
			text := longestAnswer(t, files, c, cards[v.Name])
			if text == nil {
				t.Errorf("%s: no fixture is an answer", name)
				continue
			}
			const size = 128 << 10
			once := bytes.Repeat(text, size/len(text)+1)
			twice := bytes.Repeat(once, 2)
			if short, long := leastTime(c, once, cards[v.Name]), leastTime(c, twice, cards[v.Name]); long > 3*short {
				t.Errorf("%s takes %s for %d bytes and %s for twice as many", name, short, len(once), long)
			}
		}
	}
}

// longestAnswer returns the longest of the texts that a command's parser takes.
func longestAnswer(t *testing.T, files []string, c model.Command, cards []model.Device) (longest []byte) {
	for _, file := range files {
		text := modeltest.Read(t, file)
		if _, err := c.Parse(text, cards); err == nil && len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// leastTime is that of several runs, of which the machine has disturbed some.
func leastTime(c model.Command, text []byte, cards []model.Device) time.Duration {
	least := time.Hour
	for range 5 {
		begin := time.Now()
		_, _ = c.Parse(text, cards)
		least = min(least, time.Since(begin))
	}
	return least
}
