package hygon

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// parseList reads the output of --showproductname, --showbus, --showuniqueid and --healthcheck, each of which has a part
// of who a card is:
//
//	HCU[0]          : PCI Bus: 0000:09:00.0 --> SN: … --> OAM ID: 1
//	HCU[0]          : Bus Id : 0000:09:00.0         : Healthy
func parseList(out []byte) (model.Report, error) {
	blocks, err := readBlocks(out)
	if err != nil {
		return model.Report{}, err
	}
	var r model.Report
	for i := range blocks {
		b := &blocks[i]
		d := model.Device{ID: b.Card, Name: smitext.Label(b.Value("card series")), UUID: smitext.Label(b.Value("unique id"))}
		if bus, _, _ := strings.Cut(cmp.Or(b.Value("pci bus"), b.Value("bus id")), " "); smitext.PCIAddress(bus) {
			d.BusID = bus
		}
		if state := b.Value("bus id health"); !smitext.Absent(state) {
			d.Health = &model.Health{OK: strings.EqualFold(state, "healthy"), State: state}
		}
		if cmp.Or(d.Name, d.UUID, d.BusID) != "" || d.Health != nil {
			r.Listed = append(r.Listed, d)
		}
	}
	if r.Announced = len(r.Listed); r.Announced == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return r, nil
}

var driverVersion = regexp.MustCompile(`(?m)^\s*Driver Version:[ \t]*(\S*\d\S*)[ \t\r]*\n`)

// parseVersion reads the output of --showdriverversion. The tool's own version is printed nowhere. A line without its end
// may be cut.
func parseVersion(out []byte) (model.Report, error) {
	if err := checkBanner(out); err != nil {
		return model.Report{}, err
	}
	m := driverVersion.FindSubmatch(out)
	if m == nil {
		return model.Report{}, failure.Errorf(failure.Parse, "no driver version in the output")
	}
	return model.Report{Tool: &model.Tool{Name: "hy-smi", DriverVersion: string(m[1])}}, nil
}

var (
	cardName = regexp.MustCompile(`(?:[DH]CU|GPU)\[(\d+)\]`)
	// linkTypes is the last of four matrices, of which the others have numbers.
	linkTypes   = regexp.MustCompile(`(?ms)Link Type between [^\n]*\n(.*?)(?:^=|\z)`)
	self        = regexp.MustCompile(`(\s)(?:None|0)(\s)`)
	parseMatrix = smitext.TopologyParser(`\d+`, `\d+`)
)

// parseTopology reads the output of --showtopo: the matrix of link types, and each card's NUMA node.
func parseTopology(out []byte) (model.Report, error) {
	blocks, err := readBlocks(out)
	if err != nil {
		return model.Report{}, err
	}
	var matrix []byte
	if m := linkTypes.FindSubmatch(out); m != nil {
		matrix = cardName.ReplaceAll(self.ReplaceAll(m[1], []byte("${1}X${2}")), []byte("$1"))
	}
	r, err := parseMatrix(matrix)
	r.Affinities = nil
	for i := range blocks {
		if n, ok := smitext.Index(blocks[i].Value("numa node")); ok {
			r.Affinities = append(r.Affinities, model.Affinity{Name: blocks[i].Card, NUMANode: &n})
			err = nil // a single card may have no matrix
		}
	}
	return r, err
}

// parseProcesses reads the output of --showpids. A process on several cards has one sum of memory, which is of no card.
func parseProcesses(out []byte) (model.Report, error) {
	if err := checkBanner(out); err != nil {
		return model.Report{}, err
	}
	if !bytes.Contains(out, []byte("PIDs for KFD processes")) && !bytes.Contains(out, []byte("No KFD PIDs")) {
		return model.Report{}, failure.Errorf(failure.Parse, "no list of processes in the output")
	}
	var r model.Report
	var p model.Process
	for _, b := range smitext.ReadKeyValues(out) {
		for _, e := range b.Entries {
			switch {
			case e.Word == "pid":
				p = model.Process{PID: e.Value}
			case e.Word == "hcu index", e.Word == "dcu index", e.Word == "gpu index":
				p.Device = strings.Trim(e.Value, "[]' ")
			case e.Word == "vram used" && e.Unit != "%" && smitext.IsIndex(p.PID) && smitext.IsIndex(p.Device):
				used, isKnown, err := smitext.Bytes.Parse(e.Value, e.Unit)
				if err != nil {
					r.Warn("process %s: %v", p.PID, smitext.CannotRead(e.Word, e.Value, err))
				}
				if p.UsedBytes = used; isKnown {
					r.Processes = append(r.Processes, p)
				}
			}
		}
	}
	return r, nil
}
