package main

import (
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// addPorts adds an Ascend 950, which no machine has together with the cards of everything:
// it has several ports, where others have one without a number.
func addPorts(t testing.TB, to map[string]*dto.MetricFamily) {
	t.Helper()
	const device = "8"
	p := start(t, "--no-collector.metax", "--no-collector.numa", "--collector.interval=1h",
		"--collector.detail=full", "--collector.serials",
		"--collector.ascend.command="+tool(t, "npu-smi", answers(t, "npu-smi-950")),
		"--collector.ascend.hccn-command="+tool(t, "hccn_tool", answers(t, "hccn_tool-950")))
	var ofCard map[string]*dto.MetricFamily
	before := ""
	waitFor(t, "every port has told, and the card what is asked last, and nothing changes any more", func() bool {
		_, body := p.get(t, "/metrics")
		ofCard = expositiontest.Families(t, body)
		for name, f := range ofCard {
			if f.Metric = slices.DeleteFunc(f.Metric, isOther(device)); len(f.Metric) == 0 {
				delete(ofCard, name)
			}
		}
		text := expositiontest.Text(t, ofCard)
		same := text == before
		before = text
		ports := strings.Count(text, "accelerator_network_up{") // which one command tells of all of them
		for _, last := range []string{"accelerator_network_speed_bits_per_second{", `kind="crc"`, `state="up"`} {
			same = same && strings.Count(text, last) == ports
		}
		return same && ports > 1 && strings.Contains(text, "accelerator_board_info{")
	})
	for name, f := range ofCard {
		if to[name] == nil {
			to[name] = f
		} else {
			to[name].Metric = append(to[name].Metric, f.Metric...)
		}
	}
}

// isOther reports whether a series is not of a card.
func isOther(device string) func(*dto.Metric) bool {
	return func(m *dto.Metric) bool {
		return !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "device" && l.GetValue() == device })
	}
}

// detailsTold reports whether every detail of the machine of everything has told: those
// that are asked last, of the last card.
func detailsTold(body string) bool {
	return !slices.ContainsFunc([]string{
		`accelerator_ras_status{device="2",register="pcie_register0",vendor="metax"}`,
		`accelerator_board_info{device="2"`,
		`accelerator_error_info{code="80E18401",device="3",vendor="ascend"}`,
		`accelerator_network_speed_bits_per_second{device="3",port="",udie="",vendor="ascend"}`,
	}, func(sample string) bool { return !strings.Contains(body, sample) })
}
