package iluvatar

import (
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// Fields of queries. The power fields have other names in some builds.
const (
	fieldIndex  = "index"
	fieldBusID  = "pci.bus_id"
	fieldPower  = "gpu.power.draw"
	fieldLimit  = "gpu.current.power.limit"
	fieldMemory = "temperature.memory"
)

// queryRows read the values of the query that stands in for the table.
var queryRows = smitext.Rows{
	{Word: "utilization.gpu", Metric: "utilization_ratio", Unit: smitext.Percent},
	{Word: fieldPower, Metric: "power_watts", Unit: smitext.Watts},
	{Word: fieldLimit, Metric: "power_limit_watts", Unit: smitext.Watts, NotZero: true},
	{Word: "temperature.gpu", Metric: "temperature_celsius", Labels: []string{"chip"}, Unit: smitext.Celsius, Symbol: "C"},
	{Word: "memory.total", Metric: "memory_total_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, NotZero: true},
	{Word: "memory.used", Metric: "memory_used_bytes", Labels: []string{"vram"}, Unit: smitext.Bytes, Within: "memory_total_bytes"},
	{Word: "clocks.current.sm", Metric: "clock_hertz", Labels: []string{"core"}, Unit: smitext.Hertz},
	{Word: "clocks.current.memory", Metric: "clock_hertz", Labels: []string{"memory"}, Unit: smitext.Hertz},
}

// memoryRows read the one temperature that neither table nor XML has.
var memoryRows = smitext.Rows{
	{Word: fieldMemory, Metric: "temperature_celsius", Labels: []string{"hbm"}, Unit: smitext.Celsius, Symbol: "C", Applies: isThere},
}

func newQuery(fields ...string) smitext.Query {
	return smitext.Query{Option: "--query-gpu", Fields: append([]string{fieldIndex, fieldBusID}, fields...)}
}

// tableQuery stands in for the table, with the power fields by these names. One field that a build does not know refuses
// the whole query. The answer is read by the places of its values.
func tableQuery(power, limit string) smitext.Query {
	return newQuery("uuid", "name", "utilization.gpu", "memory.total", "memory.used", "temperature.gpu", "clocks.current.sm", "clocks.current.memory", power, limit)
}

// parseQuery reads the cards of a query. Its error is failure.Parse where no whole card is in the answer.
func parseQuery(q smitext.Query, out []byte) (model.Report, error) {
	blocks, r, err := q.ReadCardBlocks(out)
	for i := range blocks {
		b := &blocks[i]
		d := model.Device{ID: b.Card, BusID: b.BusID, UUID: smitext.Label(b.Value("uuid")), Name: smitext.Label(b.Value("name"))}
		addCard(&r, d, queryRows, b, b.Value(fieldPower))
	}
	return r, err
}

func parseMemory(out []byte, cards []model.Device) (model.Report, error) {
	blocks, r, err := newQuery(fieldMemory).ReadCardBlocks(out)
	if err != nil {
		return r, err
	}
	return memoryRows.ReadCards(blocks, smitext.FindCard, cards)
}
