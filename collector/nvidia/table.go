// Package nvidia reads what NVIDIA's nvidia-smi prints: drivers 369 to 610 have been met.
//
// Two queries give what is needed often, as comma-separated rows with the unit in each value. One field that a driver
// does not know refuses a whole query, so the frequent one asks for old fields alone, and the details for those that
// the tool's own help has.
package nvidia

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// tableRows read the values of the main query.
var tableRows = []smitext.KeyRow{
	smitext.Key("utilization.gpu", "utilization_ratio", smitext.Percent),
	smitext.Key("power.draw", "power_watts", smitext.Watts),
	smitext.Key("enforced.power.limit", "power_limit_watts", smitext.Watts).NotZero(),
	smitext.Key("temperature.gpu", "temperature_celsius", smitext.Celsius, "chip").InUnit("C"),
	smitext.Key("memory.total", "memory_total_bytes", smitext.Bytes, "vram").NotZero(),
	smitext.Key("memory.used", "memory_used_bytes", smitext.Bytes, "vram").Within("memory_total_bytes"),
}

var table = newCardQuery(append([]string{"name"}, keys(tableRows)...)...)

func keys(rows []smitext.KeyRow) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Key)
	}
	return all
}

// parseTable reads the answer to the main query. Its error is failure.Parse where no whole card is in it.
func (q query) parseTable(out []byte) (model.Report, error) {
	var r model.Report
	blocks, err := q.readCards(out, &r)
	if err != nil {
		return model.Report{}, err
	}
	for i := range blocks {
		r.Devices = append(r.Devices, device(&blocks[i]))
	}
	read, err := smitext.ParseKeys(blocks, tableRows, owner, r.Devices)
	if err != nil {
		return model.Report{}, err
	}
	r.Join(read)
	return r, nil
}

// device is the identity of a card.
func device(b *smitext.Block) model.Device {
	text := func(field string) string { return smitext.Label(b.Value(field)) }
	return model.Device{ID: b.Card, UUID: text("uuid"), BusID: text("pci.bus_id"), Name: text("name")}
}

// owner finds a card by its number and UUID: numbers may move up when a card falls off the bus.
func owner(b *smitext.Block, cards []model.Device) int {
	d := device(b)
	return slices.IndexFunc(cards, func(known model.Device) bool { return known.ID == d.ID && known.UUID == d.UUID })
}

var processes = query{
	option: "--query-compute-apps", fields: []string{"gpu_uuid", "pid", "process_name", "used_gpu_memory"}, commaField: "process_name",
}

// parseProcesses reads which processes compute on the cards. One whose memory is not printed is left out.
func (q query) parseProcesses(out []byte, cards []model.Device) (model.Report, error) {
	var r model.Report
	rows, err := q.read(out, &r)
	if err != nil {
		return model.Report{}, err
	}
	at := func(row []string, field string) string { return row[slices.Index(q.fields, field)] }
	for _, row := range rows {
		uuid, pid := at(row, "gpu_uuid"), at(row, "pid")
		i := slices.IndexFunc(cards, func(d model.Device) bool { return d.UUID == uuid })
		if _, isPID := smitext.Index(pid); !isPID {
			r.Warn("cannot read the PID %.20q of a process", pid)
			continue
		}
		if uuid == "" || i < 0 {
			r.Warn("process %s is on no card of the table: %.60q", pid, uuid)
			continue
		}
		var memory model.Readings
		used := smitext.Field{Metric: "process_memory_used_bytes", Unit: smitext.Bytes}
		if err := used.Read(&memory, at(row, "used_gpu_memory"), ""); err != nil {
			r.Warn("process %s: %v", pid, err)
		}
		for _, m := range memory {
			r.Processes = append(r.Processes, model.Process{Device: cards[i].ID, PID: pid, Name: smitext.Label(at(row, "process_name")), UsedBytes: m.Value})
		}
	}
	return r, nil
}
