package main

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

const (
	networkTool = "hccn_tool"
	statusBusy  = 11
)

func networkNames() []string { return fakesmi.NetworkCommands() }

// lockNetwork holds hccn_tool's lock: errLocked while another process has it. It is the
// state folder itself, which a tool can lock without writing there.
func (s state) lockNetwork() (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	return lockFile(s.dir, os.O_RDONLY)
}

// networkAnswer answers hccn_tool -i DEVICE -COMMAND -g, and on a 950 -u and -p, in any
// order. The tool asks for the health of the card first, a second apart.
func networkAnswer(st state, args []string) (answer, error) {
	h, err := st.ascendHost()
	if err != nil {
		return answer{}, err
	}
	var q fakesmi.NetworkQuery
	q.Device, args = option(args, "-i")
	q.UDie, args = option(args, "-u")
	q.Port, args = option(args, "-p")
	args = slices.Clone(args)
	reads := slices.Contains(args, "-g")
	args = slices.DeleteFunc(args, func(a string) bool { return a == "-g" })
	if !reads || q.Device == "" || len(args) != 1 || !slices.Contains(networkNames(), strings.TrimPrefix(args[0], "-")) {
		return answer{}, nil
	}
	q.Command = strings.TrimPrefix(args[0], "-")
	cards, err := h.cards(st)
	if err != nil {
		return answer{}, err
	}
	a := answer{command: q.Command, card: q.Device}
	const retries = 3
	if slices.ContainsFunc(cards, func(c fakesmi.AscendCard) bool { return c.Device == q.Device && isSick(c.Health) }) {
		a.text, a.isError, a.status, a.wait = "Get device health status failed!\n", true, 1, retries*time.Second
		return a, nil
	}
	said := h.layout.Network(q, cards, time.Now())
	a.text, a.isError, a.status = said.Text, said.Errs, said.Status
	return a, nil
}

// isSick reports whether a card in that state cannot be asked over the network tool.
func isSick(health string) bool { return health == "Alarm" || health == "Critical" }
