package metax

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// jsonRows read the parts of mx-smi -j that no other text has.
var jsonRows = smitext.Rows{
	{Word: "ras_status > *", Metric: "ras_status", Labels: []string{"*"}},
	{Word: "ras_count > corrected_error", Metric: "ras_errors_total", Labels: []string{"correctable"}},
	{Word: "ras_count > uncorrected_error", Metric: "ras_errors_total", Labels: []string{"uncorrectable"}},
	{Word: "pci_event_info > aer_ue", Metric: "pci_events_total", Labels: []string{"aer_ue"}},
	{Word: "pci_event_info > aer_ce", Metric: "pci_events_total", Labels: []string{"aer_ce"}},
	{Word: "pci_event_info > synfld", Metric: "pci_events_total", Labels: []string{"synfld"}},
	{Word: "pci_event_info > dbe", Metric: "pci_events_total", Labels: []string{"dbe"}},
	{Word: "pci_event_info > mmio", Metric: "pci_events_total", Labels: []string{"mmio"}},
}

// parseJSON reads mx-smi -j: a title, then one object with each card's under its bus id.
func parseJSON(out []byte, cards []model.Device) (model.Report, error) {
	begin := max(0, bytes.IndexByte(out, '{'))
	if err := checkTitles(out[:begin]); err != nil {
		return model.Report{}, err
	}
	var host map[string]any
	decoder := json.NewDecoder(bytes.NewReader(out[begin:]))
	decoder.UseNumber()
	if err := decoder.Decode(&host); err != nil {
		return model.Report{}, failure.Errorf(failure.Parse, "reading the object: %w", err)
	}
	var blocks []smitext.Block
	for _, bus := range slices.Sorted(maps.Keys(host)) {
		card, ok := host[bus].(map[string]any)
		if !ok || !smitext.PCIAddress(bus) {
			continue
		}
		number, _ := card["device_id"].(json.Number)
		b := smitext.Block{BusID: bus, Card: number.String()}
		for section, members := range card {
			members, _ := members.(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(members)) {
				b.Entries = append(b.Entries, smitext.Entry{Path: section, Word: key, Value: jsonValue(members[key])})
			}
		}
		blocks = append(blocks, b)
	}
	return jsonRows.ReadCards(blocks, smitext.FindCard, cards)
}

// jsonValue returns a number or text as it is, how long a list is, and the sum of an object of
// whole numbers, "" where one is none. The tool lists what is there, so nothing is 0.
func jsonValue(value any) string {
	switch v := value.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	case []any:
		return strconv.Itoa(len(v))
	case map[string]any:
		total := uint64(0)
		for _, member := range v {
			number, _ := member.(json.Number)
			n, err := strconv.ParseUint(number.String(), 10, 48)
			if err != nil {
				return ""
			}
			total += n
		}
		return strconv.FormatUint(total, 10)
	}
	return ""
}
