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
var tableRows = smitext.Rows{
	{Word: "utilization.gpu", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: "power.draw", Metric: "power_watts", Unit: smitext.Watts},
	{Word: "enforced.power.limit", Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "temperature.gpu", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius, Symbol: "C"},
	{Word: "memory.total", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "memory.used", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
}

// query is one --query-… option with its fields.
type query struct{ smitext.Query }

var (
	table     = newCardQuery(slices.Concat([]string{"name"}, words(tableRows)))
	processes = query{smitext.Query{
		Option: "--query-compute-apps", Fields: []string{"gpu_uuid", "pid", "process_name", "used_gpu_memory"}, CommaField: "process_name",
	}}
)

func words(rows smitext.Rows) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Word)
	}
	return all
}

// newCardQuery is the query of these fields of the cards, behind the number and what shows whether it still means the same
// card.
func newCardQuery(fields []string) query {
	return query{smitext.Query{Option: "--query-gpu", Fields: slices.Concat([]string{"index", "uuid", "pci.bus_id"}, fields)}}
}

// parseTable reads the answer to the main query. Its error is failure.Parse where no whole card is in it.
func (q query) parseTable(out []byte) (model.Report, error) {
	blocks, r, err := q.ReadCardBlocks(out)
	for i := range blocks {
		tableRows.AddCard(&r, device(&blocks[i]), &blocks[i])
	}
	return r, err
}

// device is the identity of a card.
func device(b *smitext.Block) model.Device {
	text := func(field string) string { return smitext.Label(b.Value(field)) }
	return model.Device{ID: b.Card, UUID: text("uuid"), BusID: b.BusID, Name: text("name")}
}

// parseProcesses reads which processes compute on the cards. One whose memory is not printed is left out.
func (q query) parseProcesses(out []byte, cards []model.Device) (model.Report, error) {
	rows, r, err := q.ReadBlocks(out)
	for _, row := range rows {
		uuid, pid, memory := row.Value("gpu_uuid"), row.Value("pid"), row.Value("used_gpu_memory")
		at := slices.IndexFunc(cards, func(d model.Device) bool { return d.UUID == uuid })
		used, isKnown, err := smitext.Bytes.Parse(memory, "")
		switch {
		case !smitext.IsIndex(pid):
			r.Warn("cannot read the PID %.20q of a process", pid)
		case uuid == "" || at < 0:
			r.Warn("process %s is on no card of the table: %.60q", pid, uuid)
		case err != nil:
			r.Warn("process %s: %v", pid, smitext.CannotRead("its memory", memory, err))
		case isKnown:
			p := model.Process{Device: cards[at].ID, PID: pid, Name: smitext.Label(row.Value("process_name")), UsedBytes: used}
			r.Processes = append(r.Processes, p)
		}
	}
	return r, err
}
