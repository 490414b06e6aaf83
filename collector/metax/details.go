package metax

import (
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// commands are those beside the main table, each of which answers for all cards.
func commands() []model.Command {
	all := []model.Command{
		{Name: "list", Inventory: true, Every: time.Minute, Args: model.SameArgs([]string{"-L"}), Parse: model.IgnoreCards(ParseList)},
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"topo", "-n"}, []string{"topo", "-m"}), Parse: model.IgnoreCards(smitext.TopologyParser(`GPU\d+`, `NIC\d+`))}, // the first has NICs
		{Name: "summary", Lean: true, Every: 30 * time.Second, Args: model.SameArgs([]string{"-s"}), Parse: parseText(summaryRows)},
	}
	for _, flag := range []string{
		"--count-ecc", "--show-ecc-state", "--show-clk-tr", "--show-pcie", "--show-pcie-bandwidth", "--show-hbm-bandwidth",
	} {
		all = append(all, model.Command{
			Name: "counters", Part: flag, Lean: true, Every: time.Minute, Args: model.SameArgs([]string{flag}), Parse: parseText(counterRows),
		})
	}
	return append(all, model.Command{Name: "json", Lean: true, Every: time.Minute, Args: model.SameArgs([]string{"-j"}), Parse: parseJSON})
}

// parseText reads the sections below each GPU# line.
func parseText(rows smitext.Rows) func([]byte, []model.Device) (model.Report, error) {
	return func(out []byte, cards []model.Device) (model.Report, error) {
		if err := checkTitles(out); err != nil {
			return model.Report{}, err
		}
		return rows.ReadCards(smitext.ReadKeyValues(out), smitext.FindCard, cards)
	}
}

// checkTitles returns an error where the lines before the first card are another tool's.
func checkTitles(out []byte) error {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "GPU#") {
			return nil
		}
		if err := checkBanner(line); err != nil {
			return err
		}
	}
	return nil
}
