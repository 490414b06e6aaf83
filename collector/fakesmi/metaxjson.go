package fakesmi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// object is a JSON object whose members keep their order, as the tool's have one.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// PrintJSON writes what the tool prints for -j: its version, and then JSON.
func (l MetaXLayout) PrintJSON(w io.Writer, t *model.Tool, cards []MetaXCard, at time.Time) error {
	all := object{
		{"timestamp", at.Format(time.ANSIC)},
		{"smi_version", l.Version},
		{"maca_version", t.RuntimeVersion},
		{"driver_version", t.DriverVersion},
		{"attached_gpus", len(cards)},
	}
	for i := range cards {
		all = append(all, member{cards[i].BusID, cards[i].object()})
	}
	text, err := json.MarshalIndent(all, "", "    ")
	if err != nil {
		return err
	}
	tool, _, _ := l.names()
	_, err = fmt.Fprintf(w, "%s  version: %s\n%s\n", tool, l.Version, text)
	return err
}

func (c *MetaXCard) object() object {
	number, err := strconv.Atoi(c.Device)
	if err != nil {
		number = -1
	}
	o := object{
		{"device_id", number},
		{"vbios_version", c.version("BIOS")},
		{"unavailable_reason", ""},
		{"hotspot", thousandths(c.Hotspot)},
		{"utilization", whole64(c.GPU)},
		{"clocks", object{{"XCORE", c.clock("XCORE_CLK")}, {"MC", c.clock("MC0_DFICLK")}, {"VPUE", c.clock("VPU_ENCCLK")}, {"VPUD", c.clock("VPU_DECCLK0")}}},
		{"ras_status", texts(c.Registers)},
		{"ras_count", object{{"uncorrected_error", counts(c.UncorrectedErrors)}, {"corrected_error", counts(c.CorrectErrors)}}},
		{"board_power", c.ways()},
		{"pci_event_info", object{{"aer_ue", []string{}}, {"aer_ce", []string{}}, {"synfld", []string{}}, {"dbe", []string{}}, {"mmio", []string{}}}},
		{"sgpu_count", len(c.Slices)},
	}
	if len(c.Slices) == 0 {
		return o
	}
	var slices []object
	for i, s := range c.Slices {
		id, _ := strconv.Atoi(s.ID)
		slices = append(slices, object{
			{"minor", 22 + i},
			{"parent_deviceId", number},
			{"sgpu_id", id},
			{"compute_quota", whole64(100 * value(s.Readings, "slice_compute_quota_ratio"))},
			{"vram_quota", whole64(mib * value(s.Readings, "slice_memory_quota_bytes"))},
			{"vram_used", whole(s.Readings, mib, "", "slice_memory_used_bytes")},
			{"utilization", whole(s.Readings, 100, "%", "slice_utilization_ratio")},
		})
	}
	return append(o, member{"sgpu_info", slices})
}

func (c *MetaXCard) version(of string) string {
	for _, w := range c.Versions {
		if w.Name == of {
			return w.Text
		}
	}
	return ""
}

func (c *MetaXCard) ways() object {
	var volts, amperes, watts object
	for _, s := range c.Ways {
		name := strings.ReplaceAll(s.Name, " ", "")
		volts = append(volts, member{name, thousandths(s.Volts)})
		amperes = append(amperes, member{name, thousandths(s.Amperes)})
		watts = append(watts, member{name, thousandths(s.Watt)})
	}
	return object{{"voltage", volts}, {"current", amperes}, {"power", watts}}
}

func (c *MetaXCard) clock(name string) any {
	for _, clock := range c.Clocks {
		if clock.Name == name {
			return whole64(clock.MHz)
		}
	}
	return nil
}

func texts(all []Word) object {
	o := object{}
	for _, w := range all {
		o = append(o, member{w.Name, w.Text})
	}
	return o
}

func counts(all []Figure) object {
	o := object{}
	for _, f := range all {
		o = append(o, member{f.Name, whole64(f.Value)})
	}
	return o
}

func value(rs model.Readings, m model.Metric) float64 {
	v, _ := rs.Get(m)
	return v
}

// thousandths is a text, as the tool has it for what is no whole number.
func thousandths(v float64) any {
	if math.IsNaN(v) {
		return notPrinted
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// whole64 is a whole number, or null where there is none.
func whole64(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return int64(math.Round(v))
}
