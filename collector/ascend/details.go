package ascend

import (
	"fmt"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/detail"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/keyvalue"
	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/smi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// details are the deeper commands of npu-smi, then those of hccn_tool.
func details() []smi.Detail {
	all := []smi.Detail{
		{Name: "usages", Scope: smi.Card, Every: smi.FiveMinutes, Args: card("usages"), Parse: parseAsked(usagesRows())},
		{
			Name: "watch", Scope: smi.Host, Every: smi.Minute, Lean: true,
			Args:   func(model.Device) [][]string { return [][]string{{"info", "watch"}} },
			Enough: watchedAll, Parse: parseWatch,
		},
		{Name: "common", Scope: smi.Card, Every: smi.Minute, Args: card("common"), Parse: parseAsked(commonRows())},
		{Name: "ecc", Scope: smi.Card, Every: smi.FiveMinutes, Lean: true, Args: card("ecc"), Parse: parseAsked(eccRows())},
		{Name: "ecc_enable", Scope: smi.Card, Every: smi.Hour, Args: card("ecc-enable"), Parse: parseText(eccEnableRows(), askedFirst)},
		// The links have another name in tools for the Chinese market.
		{Name: "hccs", Scope: smi.Die, Every: smi.Minute, Args: die("hccs", "xlink"), When: hasChip, Parse: parseAsked(hccsRows())},
		{Name: "sensors", Scope: smi.Die, Every: smi.FiveMinutes, Args: die("sensors"), Parse: parseAsked(sensorsRows())},
		{Name: "memory", Scope: smi.Card, Every: smi.FiveMinutes, Args: card("memory"), Parse: parseAsked(memoryRows())},
		{Name: "temp", Scope: smi.Card, Every: smi.FiveMinutes, Args: card("temp"), When: hasChip, Parse: parseAsked(tempRows())},
		{Name: "volt", Scope: smi.Card, Every: smi.FiveMinutes, Args: card("volt"), Parse: parseAsked(voltRows())},
		{Name: "pcie_err", Scope: smi.Die, Every: smi.FiveMinutes, Args: die("pcie-err"), Parse: parseAsked(pcieErrRows())},
		{Name: "sio_info", Scope: smi.Die, Every: smi.FiveMinutes, Args: die("sio-info"), Parse: parseAsked(sioRows())},
		{Name: "health", Scope: smi.Die, Every: smi.Minute, Lean: true, Args: die("health"), When: isSick, Parse: parseAsked(healthRows())},
		{Name: "board", Scope: smi.Card, Every: smi.Hour, Serials: true, Args: card("board"), Parse: parseText(boardRows(), askedFirst)},
	}
	return slices.Concat(all, networkDetails())
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
func hasHBM(d *model.Device) bool {
	_, ok := d.Readings.Get("memory_total_bytes", "hbm")
	return ok
}

func hasDDRAlone(d *model.Device) bool {
	_, ok := d.Readings.Get("memory_total_bytes", "ddr")
	return ok && !hasHBM(d)
}

func parseAsked(rows []detail.Row) func([]byte, []model.Device) ([]smi.Told, error) {
	return parseText(rows, asked)
}

func parseText(rows []detail.Row, owner detail.Owner) func([]byte, []model.Device) ([]smi.Told, error) {
	return func(out []byte, cards []model.Device) ([]smi.Told, error) {
		return detail.Parse(keyvalue.Read(out), rows, owner, cards)
	}
}

// asked finds the chip of an answer about one NPU. What is of no chip is that of the only
// one. Where the number of one chip is missing, its values may stand with another's.
func asked(b *keyvalue.Block, cards []model.Device) (int, error) {
	if len(cards) == 0 || b.Card != "" && b.Card != cards[0].NPU {
		return -1, fmt.Errorf("the output is about the NPU %.20q, which was not asked for", b.Card)
	}
	only := len(cards) == 1 && b.Chips <= 1
	if (b.Chip != "" || b.MCU) && (b.Told < len(cards) || b.Chips > 0 && b.Told != b.Chips) {
		return -1, nil
	}
	for i, d := range cards {
		switch {
		case b.Chip == "" && only, b.Chip != "" && d.Chip == b.Chip, b.Chip == "0" && !hasChip(&d) && only:
			return i, nil
		}
	}
	return -1, nil
}

// askedFirst is asked for an answer that is about the first chip, or about the whole card, and does not say so.
func askedFirst(b *keyvalue.Block, cards []model.Device) (int, error) {
	at := slices.IndexFunc(cards, func(d model.Device) bool { return d.Chip == "0" })
	if b.Chip != "" || at < 0 {
		return asked(b, cards)
	}
	_, err := asked(b, cards)
	return at, err
}

// watchLayout is that of npu-smi info watch, which prints a row for each chip, again
// and again, under one header.
func watchLayout() keyvalue.Layout {
	l := keyvalue.Layout{First: "npuid", Card: "npuid", Chip: "chipid"}
	for _, word := range []string{"ai core", "ai cpu", "ctrl cpu", "memory bw", "npu util", "ai cube"} {
		l.Words = append(l.Words, boxtable.Word{Text: word})
	}
	return l
}

func parseWatch(out []byte, cards []model.Device) ([]smi.Told, error) {
	return detail.Parse(keyvalue.Columns(out, watchLayout()), watchRows(), watched, cards)
}

// watchedAll reports whether a row of every card was printed, or one of a card again: the
// round is over then, and what it lacks is not printed.
func watchedAll(out []byte, cards []model.Device) bool {
	seen := make([]bool, len(cards))
	for _, b := range keyvalue.Columns(out, watchLayout()) {
		at, _ := watched(&b, cards)
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

// watched finds the chip of a row by its numbers.
func watched(b *keyvalue.Block, cards []model.Device) (int, error) {
	found := -1
	for i, d := range cards {
		if d.NPU != b.Card || b.Chip != "" && d.Chip != "" && d.Chip != b.Chip {
			continue
		}
		if found >= 0 { // several chips, and which one is not printed
			return -1, nil
		}
		found = i
	}
	return found, nil
}
