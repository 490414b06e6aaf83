package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// troubled is an hour of a machine whose first card has had every fault that counts.
func troubled(devices []model.Device) (fakesmi.Faults, *fakesmi.Life) {
	faults := fakesmi.Faults{
		{Device: "0", Kind: fakesmi.FaultECC},
		{Device: "0", Kind: fakesmi.FaultPCIeSlow},
		{Device: "0", Kind: fakesmi.FaultPowerCap},
		{Device: "3", Kind: fakesmi.FaultRAS},
	}
	life := &fakesmi.Life{}
	life.Live(fakesmi.Moment{At: time.Unix(0, 0).UTC()}, faults, devices)
	life.Live(fakesmi.Moment{At: time.Unix(3600, 0).UTC(), Busy: 1800}, faults, devices)
	return faults, life
}

// deepMetaX adds what mx-smi tells of a machine's cards beyond its table.
func deepMetaX(t testing.TB, answers map[string]string, l fakesmi.MetaXLayout, m model.Report) {
	t.Helper()
	at := time.Unix(0, 0).UTC()
	faults, life := troubled(m.Devices)
	cards := fakesmi.MetaXCards(m, faults, life)
	answers["-s"] = printed(t, func(b *bytes.Buffer) error { return l.PrintSummary(b, cards, at) })
	answers["-j"] = printed(t, func(b *bytes.Buffer) error { return l.PrintJSON(b, m.Tool, cards, at) })
	flags := []string{"--count-ecc", "--show-ecc-state", "--show-clk-tr", "--show-pcie", "--show-pcie-bandwidth", "--show-hbm-bandwidth"}
	for _, flag := range flags {
		answers[flag] = printed(t, func(b *bytes.Buffer) error { return l.PrintFlags(b, []string{flag}, cards, at) })
	}
	answers[strings.Join(flags, " ")] = printed(t, func(b *bytes.Buffer) error { return l.PrintFlags(b, flags, cards, at) })
}

// deepAscend are the answers of npu-smi to each type, of each card and die, and to watch.
func deepAscend(t testing.TB, answers map[string]string, l fakesmi.AscendLayout, m model.Report) {
	t.Helper()
	faults, life := troubled(m.Devices)
	cards := l.AscendCards(m, faults, life)
	watch := l.WatchHeader("")
	for i := range cards {
		c := &cards[i]
		watch += l.WatchLine("", c)
		for _, kind := range fakesmi.AscendTypes() {
			of := "info -t " + kind + " -i " + c.NPU
			answers[of] = l.Query(fakesmi.AscendQuery{Type: kind, NPU: c.NPU}, cards).Text
			answers[of+" -c "+c.Chip] = l.Query(fakesmi.AscendQuery{Type: kind, NPU: c.NPU, Chip: c.Chip}, cards).Text
		}
	}
	answers["info watch"] = watch
}

// networkAnswers are those of hccn_tool.
func networkAnswers(l fakesmi.AscendLayout, m model.Report) map[string]string {
	faults, life := troubled(m.Devices)
	cards, answers := l.AscendCards(m, faults, life), map[string]string{}
	ask := func(args string, q fakesmi.NetworkQuery) { answers[args] = l.Network(q, cards, life.Now.At).Text }
	for _, c := range cards {
		for _, command := range fakesmi.NetworkCommands() {
			ask("-i "+c.Device+" -"+command+" -g", fakesmi.NetworkQuery{Device: c.Device, Command: command})
			ask("-g -"+command+" -i "+c.Device, fakesmi.NetworkQuery{Device: c.Device, Command: command})
			for _, p := range c.Ports {
				ask("-g -"+command+" -i "+c.Device+" -u "+p.UDie+" -p "+p.ID,
					fakesmi.NetworkQuery{Device: c.Device, Command: command, UDie: p.UDie, Port: p.ID})
			}
		}
	}
	return answers
}

// addPorts adds an Ascend 950, which no machine has together with the cards of everything:
// it has several ports, where others have one without a number.
func addPorts(t testing.TB, to map[string]*dto.MetricFamily) {
	t.Helper()
	const device = "8"
	layout, err := fakesmi.AscendLayoutNamed("950-25.6")
	if err != nil {
		t.Fatal(err)
	}
	m := few(layout.Machine(fakesmi.Load{Busy: 0.6, PID: 4444, Process: "python3"}), 1)
	m.Devices[0].ID, m.Devices[0].NPU = device, device
	for i := range m.Processes {
		m.Processes[i].Device = device
	}
	m = layout.Reduce(m)
	answers := map[string]string{"info": printed(t, func(b *bytes.Buffer) error { return layout.Print(b, m) })}
	deepAscend(t, answers, layout, m)
	p := start(t, "--no-collector.metax", "--no-collector.numa", "--collector.interval=1h",
		"--collector.detail=full", "--collector.detail-share=1", "--collector.serials",
		"--collector.ascend.command="+tool(t, "npu-smi", answers),
		"--collector.ascend.hccn-command="+tool(t, "hccn_tool", networkAnswers(layout, m)))
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
		up := strings.Count(text, "accelerator_network_speed_bits_per_second{")
		return same && up > 1 && strings.Count(text, `kind="crc"`) == up && strings.Contains(text, "accelerator_board_info{")
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
