package smi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const cardCount = 8

// cardModel is a kind of card and how it answers to load.
type cardModel struct {
	name                        string
	firstBus, busStep           int
	idleWatts, fullWatts        float64
	idleMiB, modelMiB, cacheMiB float64 // of the driver, the model and its key-value cache
	totalMiB                    float64
	idleMHz, fullMHz            float64
	serving                     int    // how many of the cards serve the model
	sick                        string // what the tool says of an unhealthy card
	sliced                      bool   // the last card is cut into slices
	hidesSick                   bool   // an unhealthy card is in the list alone
}

var c500 = cardModel{
	name: "MetaX C500", firstBus: 0x11, busStep: 8, idleWatts: 56, fullWatts: 310, idleMiB: 826, modelMiB: 52000, cacheMiB: 9000, totalMiB: 65536,
	idleMHz: 400, fullMHz: 1525, serving: 4, sick: "Layout Node Not Found", sliced: true, hidesSick: true,
}

var ascend910B = cardModel{
	name: "910B4", firstBus: 0x41, busStep: 0x10, idleWatts: 84, fullWatts: 290, idleMiB: 2826, modelMiB: 24500, cacheMiB: 4400, totalMiB: 32768,
	idleMHz: 800, fullMHz: 1650, serving: cardCount, sick: "Alarm",
}

var h100 = cardModel{
	name: "NVIDIA H100 80GB HBM3", firstBus: 0x19, busStep: 0x10, idleWatts: 70, fullWatts: 680, idleMiB: 479, modelMiB: 62000, cacheMiB: 9000, totalMiB: 81559,
	idleMHz: 345, fullMHz: 1980, serving: cardCount, sick: "Reset",
}

var k100AI = cardModel{
	name: "K100_AI", firstBus: 0x09, busStep: 0x10, idleWatts: 106, fullWatts: 388, idleMiB: 2, modelMiB: 47000, cacheMiB: 12000, totalMiB: 65520,
	idleMHz: 600, fullMHz: 1400, serving: 1, sick: "Not Healthy", // a process on several cards has no memory of one
}

var biV150 = cardModel{
	name: "Iluvatar BI-V150", firstBus: 0x13, busStep: 0x10, idleWatts: 103, fullWatts: 340, idleMiB: 64, modelMiB: 24000, cacheMiB: 7000, totalMiB: 32768,
	idleMHz: 1500, fullMHz: 1500, serving: cardCount, sick: "lost",
}

var p800 = cardModel{
	name: "P800 OAM", firstBus: 0x03, busStep: 0x10, idleWatts: 86, fullWatts: 372, idleMiB: 0, modelMiB: 71000, cacheMiB: 19000, totalMiB: 98304,
	idleMHz: 1450, fullMHz: 1450, serving: cardCount,
}

var s5000 = cardModel{
	name: "MTT S5000", firstBus: 0x18, busStep: 0x12, idleWatts: 96, fullWatts: 870, idleMiB: 0, modelMiB: 62000, cacheMiB: 9000, totalMiB: 81920,
	idleMHz: 400, fullMHz: 1750, serving: cardCount,
}

var s60 = cardModel{
	name: "Enflame S60", firstBus: 0x10, busStep: 0x10, idleWatts: 97, fullWatts: 285, idleMiB: 0, modelMiB: 30500, cacheMiB: 7400, totalMiB: 42976,
	idleMHz: 7000, fullMHz: 7000, serving: cardCount, sick: "False",
}

// State is what tools print of.
type State struct {
	Load Load
	// Orders are what the files of the state folder say, by their names such as mx-smi.card.
	Orders map[string]string
	Since  time.Time // since when cards have their faults
}

// Load is what a model server does to the cards.
type Load struct {
	At          time.Time `json:"at"`
	Busy        float64   `json:"busy"`  // share of the server's capacity in use, 0 to 1
	Cache       float64   `json:"cache"` // share of the key-value cache in use, 0 to 1
	PID         int       `json:"pid"`   // 0 when no server runs
	Process     string    `json:"process"`
	BusySeconds float64   `json:"busy_seconds"` // of full load since the folder began
}

// began is when all counters were 0.
var began = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// machine is a host's cards of one vendor at one instant.
type machine struct {
	At          time.Time
	Inventory   []*card // all that the host has
	Cards       []*card // those that can be asked
	busySeconds float64
	faultSince  time.Time
}

// card is the figures of one card, for the templates.
type card struct {
	*machine
	ID                int
	Name, BusID, UUID string
	Sick              string  // empty while it is well
	Busy              float64 // 0 to 1
	Watts, Celsius    float64
	UsedMiB, TotalMiB float64
	MHz               float64
	Slices            []slice
	Processes         []process
	faults            []cardFault
}

type process struct {
	PID, Name string
	MiB       float64
}

type slice struct {
	ID, Quota, Percent int // shares in %
	QuotaMiB, UsedMiB  int
}

// newMachine makes the cards of a tool under the load, and with what is wrong with them.
func newMachine(st State, t *Tool, now time.Time) (*machine, error) {
	faults, err := parseOrders(st.Orders[t.cards+".card"], "card fault", parseCardFault)
	if err != nil {
		return nil, err
	}
	m := &machine{At: now, busySeconds: st.Load.BusySeconds, faultSince: st.Since}
	for i := range cardCount {
		m.Inventory = append(m.Inventory, m.newCard(i, t.model, st.Load, faults))
	}
	if text := st.Orders[t.cards+".processes"]; text != "" {
		if err := m.setProcesses(text); err != nil {
			return nil, err
		}
	}
	isLost := slices.Contains(strings.Fields(st.Orders[t.cards+".fault"]), faultCardLost)
	for i, c := range m.Inventory {
		if (c.Sick == "" || !t.model.hidesSick) && (i < cardCount-1 || !isLost) {
			m.Cards = append(m.Cards, c)
		}
	}
	return m, nil
}

// newCard makes the card with index i. Cards differ a little, as real ones do, and always in the same way.
func (m *machine) newCard(i int, model cardModel, l Load, faults []cardFault) *card {
	bus := model.firstBus + i*model.busStep
	c := &card{
		machine: m, ID: i, Name: model.name, BusID: fmt.Sprintf("0000:%02X:00.0", bus),
		UUID: fmt.Sprintf("GPU-7c1e%04x-0d5a-4b1f-9a11-5e0000000%03d", i*257, i), TotalMiB: model.totalMiB,
	}
	for _, f := range faults {
		if f.card == "" || f.card == strconv.Itoa(i) {
			c.faults = append(c.faults, f)
		}
	}
	held := 0.0
	switch {
	case l.PID == 0:
	case i < model.serving:
		c.Busy = l.Busy * (0.97 - 0.02*float64(i%4))
		held = math.Round(model.modelMiB + model.cacheMiB*l.Cache)
		c.Processes = []process{{strconv.Itoa(l.PID), l.Process, held}}
	case i == cardCount-1:
		c.Busy, held = 0.6*l.Busy, 10998+20480
	}
	if model.sliced && i == cardCount-1 {
		c.Slices = []slice{
			{1, 25, int(math.Round(60 * l.Busy)), 16000, int(min(held, 10998))},
			{2, 50, int(math.Round(90 * l.Busy)), 32000, int(min(held, 20480))},
		}
	}
	c.Watts = math.Round(model.idleWatts + float64(i%5) + (model.fullWatts-model.idleWatts)*c.Busy)
	c.Celsius = math.Round(35 + float64(i%3) + 34*c.Busy)
	c.UsedMiB = model.idleMiB + held
	c.MHz = model.idleMHz
	if c.Busy > 0.05 {
		c.MHz = model.fullMHz
	}
	c.applyFaults(model)
	return c
}

func (c *card) applyFaults(model cardModel) {
	for _, f := range c.faults {
		switch f.kind {
		case faultUnhealthy:
			c.Sick = cmp.Or(f.text, model.sick)
		case faultHot:
			c.Celsius, c.MHz = 105, math.Round(0.6*model.fullMHz)
			if degrees, err := strconv.ParseFloat(f.text, 64); err == nil {
				c.Celsius = degrees
			}
		case faultMemoryFull:
			c.UsedMiB = c.TotalMiB - 40
		}
	}
}

// setProcesses reads who holds the cards in place of the server, one a line: the card, the PID, the name and the memory in MiB.
func (m *machine) setProcesses(text string) error {
	for _, c := range m.Inventory {
		c.Processes = nil
	}
	for line := range strings.Lines(text) {
		var id, pid int
		var p process
		if n, err := fmt.Sscan(line, &id, &pid, &p.Name, &p.MiB); n != 4 || err != nil || id < 0 || id >= cardCount || pid <= 0 {
			return fmt.Errorf("reading a process: %q must look like %q", strings.TrimSpace(line), "0 15652 python 60032")
		}
		p.PID = strconv.Itoa(pid)
		m.Inventory[id].Processes = append(m.Inventory[id].Processes, p)
	}
	return nil
}

// Minor is the number of the slice's device file.
func (s slice) Minor() int { return 21 + s.ID }

// Time prints when the tool was called, as the tools do.
func (m *machine) Time() string { return m.At.Format(time.ANSIC) }

// FaultTime prints since when cards have their faults.
func (m *machine) FaultTime() string { return m.faultSince.Format(time.ANSIC) }

func (c *card) Has(kind string) bool {
	return slices.ContainsFunc(c.faults, func(f cardFault) bool { return f.kind == kind })
}

// Counter returns a counter that grows by perSecond, and by perBusySecond for each second of full load.
func (c *card) Counter(perSecond, perBusySecond float64) uint64 {
	share := 1 + 0.01*float64(c.ID)
	return uint64(share * (perSecond*math.Floor(c.At.Sub(began).Seconds()) + perBusySecond*c.busySeconds))
}

// Errors is what grows while the card has a fault: by first at once, and then by so many a second.
func (c *card) Errors(kind string, first, perSecond float64) uint64 {
	if !c.Has(kind) {
		return 0
	}
	return uint64(first + perSecond*max(0, c.At.Sub(c.faultSince).Seconds()))
}

// Links prints a counter of each of the seven links to other cards.
func (c *card) Links(perSecond, perBusySecond float64) string {
	var b strings.Builder
	for k := range cardCount - 1 {
		share := 1 + 0.03*float64(k)
		fmt.Fprintf(&b, "%-20d ", c.Counter(share*perSecond, share*perBusySecond))
	}
	return b.String()
}

// Percent is a share of how busy the card is, in %.
func (c *card) Percent(share float64) int { return int(math.Round(100 * share * c.Busy)) }

// MemoryPercent is how much of the memory is in use, in %.
func (c *card) MemoryPercent() int { return int(math.Round(100 * c.UsedMiB / c.TotalMiB)) }

func (c *card) MemoryKiB() float64 { return 1024 * c.TotalMiB }

func (c *card) UsedKiB() float64 { return 1024 * c.UsedMiB }

// Warmer is the card's temperature and so many degrees, in °C.
func (c *card) Warmer(degrees float64) float64 { return c.Celsius + degrees }

// ModuleCelsius is the temperature of the card's optical module, which its air warms: within the limit of 70 °C unless the
// card is too hot.
func (c *card) ModuleCelsius() float64 { return 20 + c.Celsius/2 }

// Power is a share of the card's power, in watts.
func (c *card) Power(share float64) float64 { return share * c.Watts }

// Current is that of a share of the card's power, in amperes.
func (c *card) Current(share, volts float64) float64 { return share * c.Watts / volts }

// Level is mx-smi's performance level, which goes with the clock.
func (c *card) Level() int { return int(math.Round((c.MHz - c500.idleMHz) / 125)) }
