package metax

import (
	"bytes"
	"encoding/json"
	"maps"
	stdslices "slices" // the package has a section of this name
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// jsonRows read the parts of mx-smi -j that no other text has.
var jsonRows = []smitext.KeyRow{
	row("ras_status", "*", "ras_status", smitext.Count, "*"),
	row("ras_count", "corrected_error", "ras_errors_total", smitext.Count, "correctable"),
	row("ras_count", "uncorrected_error", "ras_errors_total", smitext.Count, "uncorrectable"),
	row("pci_event_info", "aer_ue", "pci_events_total", smitext.Count, "aer_ue"),
	row("pci_event_info", "aer_ce", "pci_events_total", smitext.Count, "aer_ce"),
	row("pci_event_info", "synfld", "pci_events_total", smitext.Count, "synfld"),
	row("pci_event_info", "dbe", "pci_events_total", smitext.Count, "dbe"),
	row("pci_event_info", "mmio", "pci_events_total", smitext.Count, "mmio"),
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
	for _, bus := range stdslices.Sorted(maps.Keys(host)) {
		card, ok := host[bus].(map[string]any)
		if !ok || !smitext.PCIAddress(bus) {
			continue
		}
		number, _ := card["device_id"].(json.Number)
		b := smitext.Block{BusID: bus, Card: number.String()}
		for section, members := range card {
			members, _ := members.(map[string]any)
			for _, key := range stdslices.Sorted(maps.Keys(members)) {
				b.Entries = append(b.Entries, smitext.Entry{Section: section, Key: key, Value: jsonValue(members[key])})
			}
		}
		blocks = append(blocks, b)
	}
	return smitext.ParseKeys(blocks, jsonRows, owner, cards)
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
