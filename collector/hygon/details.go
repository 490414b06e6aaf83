package hygon

import (
	"bytes"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// commands are those beside the table, each of which answers for all cards.
func commands() []model.Command {
	return []model.Command{
		{Name: "memory", EveryPoll: true, Args: show("meminfo", "vram"), Parse: parseText(memoryRows)},
		{Name: "processes", EveryPoll: true, Processes: true, Args: show("pids"), Parse: orRefused(parseProcesses)},
		{Name: "list", Part: "names", Inventory: true, Args: show("productname"), Parse: model.IgnoreCards(parseList)},
		{Name: "list", Part: "buses", Inventory: true, Every: time.Minute, Args: show("bus"), Parse: model.IgnoreCards(parseList)},
		{Name: "list", Part: "ids", Inventory: true, Args: show("uniqueid"), Parse: model.IgnoreCards(parseList)},
		{Name: "health", Inventory: true, Every: time.Minute, Args: model.SameArgs([]string{"--healthcheck"}), Parse: orRefused(parseList)},
		{Name: "version", Inventory: true, Args: show("driverversion"), Parse: model.IgnoreCards(parseVersion)},
		{Name: "topology", Inventory: true, Args: show("topo"), Parse: model.IgnoreCards(parseTopology)},
		{Name: "temp", Lean: true, Every: time.Minute, Args: show("temp"), Parse: parseText(tempRows)},
		{Name: "clocks", Lean: true, Every: time.Minute, Args: show("clocks"), Parse: parseText(clockRows)},
		{Name: "ecc", Lean: true, Every: time.Minute, Args: show("rasinfo", "all"), Parse: parseText(eccRows())},
	}
}

// show is one question: builds differ in which they know, and one that is refused must cost only its own series.
func show(what string, kind ...string) func(model.Device) [][]string {
	return model.SameArgs(append([]string{"--show" + what}, kind...))
}

// orRefused takes an answer that is whole and in other words for a refusal: a build that prints it so is not asked again
// at every poll.
func orRefused(parse func([]byte) (model.Report, error)) func([]byte, []model.Device) (model.Report, error) {
	return func(out []byte, _ []model.Device) (model.Report, error) {
		r, err := parse(out)
		if failure.ReasonOf(err) == failure.Parse && bytes.Contains(out, []byte(endLine)) {
			err = failure.Errorf(failure.Unsupported, "%w", err)
		}
		return r, err
	}
}

func parseText(rows smitext.Rows) func([]byte, []model.Device) (model.Report, error) {
	return func(out []byte, cards []model.Device) (model.Report, error) {
		blocks, err := readBlocks(out)
		if err != nil {
			return model.Report{}, err
		}
		return rows.ReadCards(blocks, smitext.FindCard, cards)
	}
}
