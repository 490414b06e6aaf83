package modeltest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const refused = "refused"

// Text is what a parser gave, a line a fact. What is not printed is left out.
func Text(r model.Report, err error) string {
	if err != nil {
		return fmt.Sprintf("%s, %s: %v\n", refused, failure.ReasonOf(err), err)
	}
	var b strings.Builder
	if r.Tool != nil {
		writeFacts(&b, "tool "+r.Tool.Name, "version", r.Tool.Version, "driver", r.Tool.DriverVersion, "runtime", r.Tool.RuntimeVersion, "firmware", r.Tool.FirmwareVersion)
	}
	if r.Announced > 0 {
		fmt.Fprintf(&b, "announced: %d\n", r.Announced)
	}
	writeCards(&b, "card", r.Devices)
	writeCards(&b, "listed", r.Listed)
	for _, s := range r.Slices {
		writeFacts(&b, "slice "+s.ID, "card", s.Device)
		writeReadings(&b, s.Readings)
	}
	for _, p := range r.Processes {
		writeFacts(&b, "process "+p.PID, "card", p.Device, "name", p.Name, "bytes", number(p.UsedBytes))
	}
	for _, a := range r.Affinities {
		node := ""
		if a.NUMANode != nil {
			node = strconv.Itoa(*a.NUMANode)
		}
		writeFacts(&b, "affinity of "+a.Name, "node", node, "CPUs", a.CPUs)
	}
	links := map[string]string{}
	for _, l := range r.Links {
		links[l.Device] += " " + l.Peer + " " + l.Type
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		fmt.Fprintf(&b, "links of %s:%s\n", name, links[name])
	}
	for _, w := range r.Warnings.Texts {
		fmt.Fprintf(&b, "! %s\n", w)
	}
	return b.String()
}

func writeCards(b *strings.Builder, kind string, cards []model.Device) {
	for _, d := range cards {
		facts := []string{"name", d.Name, "bus", d.BusID, "uuid", d.UUID, "board", d.Board, "npu", d.NPU, "chip", d.Chip}
		if h := d.Health; h != nil {
			facts = append(facts, "ok", strconv.FormatBool(h.OK), "state", h.State, "reason", h.Reason)
		}
		writeFacts(b, kind+" "+d.ID, facts...)
		writeReadings(b, d.Readings)
	}
}

// writeFacts writes names and values in turn.
func writeFacts(b *strings.Builder, what string, facts ...string) {
	b.WriteString(what + ":")
	for pair := range slices.Chunk(facts, 2) {
		if pair[1] != "" {
			fmt.Fprintf(b, " %s=%q", pair[0], pair[1])
		}
	}
	b.WriteByte('\n')
}

func writeReadings(b *strings.Builder, readings model.Readings) {
	var lines []string
	for _, r := range readings {
		lines = append(lines, fmt.Sprintf("  %s{%s} %s\n", r.Metric, strings.Join(r.Labels, ","), number(r.Value)))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
