package moorethreads

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// commands are those beside the table. One object has both the readings of every poll and who the cards are.
func commands() []model.Command {
	args := model.SameArgs([]string{"--query", "--json"})
	return []model.Command{
		{Name: "query", EveryPoll: true, Args: args, Parse: parseQuery},
		{Name: "list", Inventory: true, Args: args, Parse: model.IgnoreCards(parseList)},
	}
}

// queryRows read the members of a card's object. The first four have what the table prints too, for a cell without a
// value there. Utilization > Memory is none: it is a share of nobody knows what.
var queryRows = smitext.Rows{
	{Word: "utilization > gpu", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "temperature > gpu current temp", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius},
	{Word: "fb memory usage > total", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "fb memory usage > used", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes},
	{Word: "power readings > power draw", Metric: "power_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "power readings > current power limit", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "clocks > graphics", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "clocks > memory", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
}

func parseQuery(out []byte, cards []model.Device) (model.Report, error) {
	blocks, _, err := readBlocks(out) // whose warnings are the list's
	if err != nil {
		return model.Report{}, err
	}
	return queryRows.ReadCards(blocks, smitext.FindCard, cards)
}

func parseList(out []byte) (model.Report, error) {
	blocks, r, err := readBlocks(out)
	for i := range blocks {
		b := &blocks[i]
		r.Listed = append(r.Listed, model.Device{
			ID: b.Card, BusID: b.BusID, Name: smitext.Label(b.Value("product name")), UUID: smitext.Label(b.Value("gpu uuid")),
		})
	}
	return r, err
}

// readBlocks reads the object of --query --json, a block for each card. The report has how many cards the tool counts.
func readBlocks(out []byte) (blocks []smitext.Block, r model.Report, err error) {
	var host struct {
		Attached string           `json:"Attached GPUs"`
		Cards    []map[string]any `json:"GPU"`
	}
	begin := max(0, bytes.IndexByte(out, '{'))
	if err := json.NewDecoder(bytes.NewReader(out[begin:])).Decode(&host); err != nil {
		return nil, model.Report{}, failure.Errorf(failure.Parse, "reading the object: %w", err)
	}
	known := map[string]bool{}
	for _, card := range host.Cards {
		b := smitext.Block{Entries: entries("", card)}
		b.Card = b.Value("index")
		if bus := b.Value("bus id"); smitext.PCIAddress(bus) {
			b.BusID = bus
		}
		if !smitext.IsIndex(b.Card) || known[b.Card] {
			r.Warn("a card without a number of its own: %.40q", b.Card)
			continue
		}
		known[b.Card] = true
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return nil, model.Report{}, failure.Errorf(failure.Parse, "no card in the object")
	}
	r.Announced, _ = smitext.Index(host.Attached)
	return blocks, r, nil
}

// entries are the texts of a card's object and of the objects in it. Blanks at the end of a name, such as that of
// "Power Draw ", are no part of it.
func entries(path string, object map[string]any) (all []smitext.Entry) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		word := strings.ToLower(strings.TrimSpace(name))
		switch value := object[name].(type) {
		case string:
			all = append(all, smitext.Entry{Path: path, Word: word, Value: strings.TrimSpace(value)})
		case map[string]any:
			if path == "" {
				all = append(all, entries(word, value)...)
			}
		}
	}
	return all
}
