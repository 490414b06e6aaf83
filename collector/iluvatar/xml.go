package iluvatar

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// detailRows read the values of an element gpu that the table lacks. memory_util is the fill, and no bandwidth. Power is
// the table's: that of a board would be here beside both of its chips.
var detailRows = smitext.Rows{
	{Word: "utilization > encoder_util", Metric: "engine_utilization_ratio", Labels: []string{"encoder"}, Unit: smitext.Percent},
	{Word: "utilization > decoder_util", Metric: "engine_utilization_ratio", Labels: []string{"decoder"}, Unit: smitext.Percent},
	{Word: "ecc_mode > current_ecc", Metric: "ecc_enabled", Labels: []string{""}, Words: map[string]float64{"enabled": 1, "disabled": 0}},
	{Word: "ecc_errors > single_bit", Metric: "ecc_errors_total", Labels: []string{"", "correctable"}},
	{Word: "ecc_errors > double_bit", Metric: "ecc_errors_total", Labels: []string{"", "uncorrectable"}},
	{Word: "pcie_gen > current_link_gen", Metric: "pcie_link_transfers_per_second", Words: smitext.PCIeGenerations()},
	{Word: "pcie_gen > max_link_gen", Metric: "pcie_link_transfers_per_second_max", Words: smitext.PCIeGenerations()},
	{Word: "link_widths > current_link_width", Metric: "pcie_link_width", Unit: smitext.Lanes, NotZero: true},
	{Word: "link_widths > max_link_width", Metric: "pcie_link_width_max", Unit: smitext.Lanes, NotZero: true},
}

// answer is what -q -x prints.
type answer struct {
	XMLName  xml.Name `xml:"ixsmi_log"`
	Attached string   `xml:"attached_gpus"`
	Cards    []gpu    `xml:"gpu"`
}

// gpu is one card, without a number that the table has: minor_number is a device file's.
type gpu struct {
	BusID     string    `xml:"id,attr"`
	Elements  []element `xml:",any"`
	Processes []struct {
		PID    string `xml:"pid"`
		Name   string `xml:"process_name"` // the whole command line
		Memory string `xml:"used_memory"`
	} `xml:"processes>process_info"`
}

type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// processName is a command line, which is printed as it is: it may hold what looks like an element.
var processName = regexp.MustCompile(`<process_name>(.*)</process_name>`)

// readAnswer reads the cards of an answer. The decoder keeps none whose end is cut off. It fails with failure.Parse
// where there is no whole card, and with failure.NoDevice where the tool has none.
func readAnswer(out []byte) (a answer, r model.Report, err error) {
	out = processName.ReplaceAllFunc(out, func(name []byte) []byte {
		var text bytes.Buffer
		_ = xml.EscapeText(&text, processName.FindSubmatch(name)[1])
		return slices.Concat([]byte("<process_name>"), text.Bytes(), []byte("</process_name>"))
	})
	decoder := xml.NewDecoder(bytes.NewReader(out))
	err = decoder.Decode(&a)
	switch {
	case len(a.Cards) == 0 && err == nil:
		return a, r, failure.Errorf(failure.NoDevice, "the tool lists no card")
	case len(a.Cards) == 0:
		return a, r, failure.Errorf(failure.Parse, "reading XML: %w", err)
	case err != nil:
		r.Warn("reading XML after %d cards: %v", len(a.Cards), err)
	}
	r.Announced, _ = smitext.Index(a.Attached)
	return a, r, nil
}

// addTo adds the values of elements to a block, each below the name of the element around it.
func addTo(b *smitext.Block, title string, elements []element) {
	for _, e := range elements {
		b.Entries = append(b.Entries, smitext.Entry{Path: title, Word: e.XMLName.Local, Value: strings.TrimSpace(e.Text)})
		addTo(b, e.XMLName.Local, e.Elements)
	}
}

// parseXML reads who the cards of the table are, their processes, and what the table lacks: nothing of one that is lost.
func parseXML(out []byte, cards []model.Device) (model.Report, error) {
	a, r, err := readAnswer(out)
	known := map[int]bool{}
	for _, g := range a.Cards {
		b := smitext.Block{BusID: g.BusID}
		at := smitext.FindCard(&b, cards)
		if at < 0 || known[at] {
			r.Warn("the card at %.20q is printed twice, or is not in the table", g.BusID)
			continue
		}
		known[at] = true
		card := cards[at]
		addTo(&b, "", g.Elements)
		d := model.Device{ID: card.ID, BusID: card.BusID, UUID: smitext.Label(b.Value("uuid"))}
		if isThere(&card) && lost(b.Value("gpu_power_draw")) == nil && lost(b.Value("board_power_draw")) == nil {
			detailRows.Read(&b, &card, &d.Readings, func(err error) { r.Warn("card %s: %v", card.ID, err) })
		}
		r.Listed = append(r.Listed, d)
		for _, p := range g.Processes {
			program, _, _ := strings.Cut(p.Name, " ") // arguments may hold a key
			row := smitext.Block{Text: p.PID, Entries: []smitext.Entry{
				{Word: smitext.PID, Value: p.PID}, {Word: smitext.ProcessName, Value: program}, {Word: smitext.ProcessMemory, Value: p.Memory},
			}}
			row.AddProcess(&r, card.ID)
		}
	}
	return r, err
}
