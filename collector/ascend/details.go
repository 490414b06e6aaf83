package ascend

import (
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// details are the deeper commands of npu-smi.
func details() []model.Command {
	return []model.Command{
		{Name: "usages", Scope: model.Card, Every: 5 * time.Minute, Args: card("usages"), Parse: parseText(usagesRows, findChip)},
		{
			Name: "watch", Scope: model.Host, Every: time.Minute, Lean: true,
			Args:   model.SameArgs([]string{"info", "watch"}),
			Enough: watchedAll, Parse: parseColumns(watchFirst, watchRows),
		},
		{Name: "common", Scope: model.Card, Every: time.Minute, Args: card("common"), Parse: parseText(commonRows, findChip)},
		{Name: "ecc", Scope: model.Card, Every: 5 * time.Minute, Lean: true, Args: card("ecc"), Parse: parseText(eccRows, findChip)},
		{Name: "ecc_enable", Scope: model.Card, Every: time.Hour, Args: card("ecc-enable"), Parse: parseText(eccEnableRows, firstChip)},
		// The links have another name in tools for the Chinese market.
		{Name: "hccs", Scope: model.Die, Every: time.Minute, Args: die("hccs", "xlink"), When: hasChip, Parse: parseText(hccsRows, findChip)},
		{Name: "sensors", Scope: model.Die, Every: 5 * time.Minute, Args: die("sensors"), Parse: parseText(sensorsRows, findChip)},
		{Name: "memory", Scope: model.Card, Every: 5 * time.Minute, Args: card("memory"), Parse: parseText(memoryRows, findChip)},
		{Name: "temp", Scope: model.Card, Every: 5 * time.Minute, Args: card("temp"), When: hasChip, Parse: parseText(tempRows, findChip)},
		{Name: "volt", Scope: model.Card, Every: 5 * time.Minute, Args: card("volt"), Parse: parseText(voltRows, findChip)},
		{Name: "pcie_err", Scope: model.Die, Every: 5 * time.Minute, Args: die("pcie-err"), Parse: parseText(pcieErrRows, findChip)},
		{Name: "sio_info", Scope: model.Die, Every: 5 * time.Minute, Args: die("sio-info"), Parse: parseText(sioRows, findChip)},
		{Name: "health", Scope: model.Die, Every: time.Minute, Lean: true, Args: die("health"), When: isSick, Parse: parseText(healthRows, findChip)},
		{Name: "board", Scope: model.Card, Every: time.Hour, Serials: true, Args: card("board"), Parse: parseText(boardRows, firstChip)},
	}
}

// card asks for an NPU, and gets an answer for all its dies.
func card(kind string) func(model.Device) [][]string {
	return func(d model.Device) [][]string {
		if d.NPU == "" {
			return nil
		}
		return [][]string{{"info", "-t", kind, "-i", d.NPU}}
	}
}

// die asks for one die, by the first name of the question that the tool knows. Ascend
// 950 has one die to an NPU and refuses -c.
func die(kinds ...string) func(model.Device) [][]string {
	return func(d model.Device) [][]string {
		var all [][]string
		for _, kind := range kinds {
			for _, args := range card(kind)(d) {
				if hasChip(&d) {
					args = append(args, "-c", d.Chip)
				}
				all = append(all, args)
			}
		}
		return all
	}
}

// hasChip reports whether the table numbers the chip: that of Ascend 950 does not.
func hasChip(d *model.Device) bool { return d.Chip != "" }

func isSick(d *model.Device) bool { return d.Health != nil && !d.Health.OK }

// hasHBM and hasDDRAlone report whose bandwidth a chip's is: npu-smi prints a line for DDR
// where there is none.
func hasHBM(d *model.Device) bool { return d.Readings.Has("memory_total_bytes", "hbm") }

func hasDDRAlone(d *model.Device) bool {
	return d.Readings.Has("memory_total_bytes", "ddr") && !hasHBM(d)
}

func parseText(rows smitext.Rows, owner smitext.Owner) func([]byte, []model.Device) (model.Report, error) {
	return func(out []byte, cards []model.Device) (model.Report, error) {
		return rows.ReadCards(smitext.ReadKeyValues(out), owner, cards)
	}
}

// parseColumns reads the column tables whose header begins with the word first.
func parseColumns(first string, rows smitext.Rows) func([]byte, []model.Device) (model.Report, error) {
	return func(out []byte, cards []model.Device) (model.Report, error) {
		return rows.ReadCards(smitext.ReadColumns(out, first), findChip, cards)
	}
}

// findChip finds the only chip that a block can be about. What is of no chip is that of a card
// with one chip.
func findChip(b *smitext.Block, cards []model.Device) int {
	found := -1
	for i, d := range cards {
		if b.Card != "" && b.Card != d.NPU || b.Chip != "" && d.Chip != "" && b.Chip != d.Chip {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if b.Chip == "" && b.Chips > 1 {
		return -1
	}
	return found
}

// firstChip is for an answer that is about the first chip, or about the whole card, and does
// not say so.
func firstChip(b *smitext.Block, cards []model.Device) int {
	if b.Chip != "" {
		return findChip(b, cards)
	}
	return slices.IndexFunc(cards, func(d model.Device) bool {
		return (d.Chip == "0" || !hasChip(&d)) && (b.Card == "" || b.Card == d.NPU)
	})
}

// watchFirst begins the header of npu-smi info watch, which prints a row for each chip, again
// and again.
const watchFirst = "npuid"

// watchedAll reports whether a row of every card was printed, or one of a card again: the
// round is over then, and what it lacks is not printed.
func watchedAll(out []byte, cards []model.Device) bool {
	seen := make([]bool, len(cards))
	for _, b := range smitext.ReadColumns(out, watchFirst) {
		at := findChip(&b, cards)
		switch {
		case at < 0:
		case seen[at]:
			return true
		default:
			seen[at] = true
		}
	}
	return !slices.Contains(seen, false)
}
