package iluvatar

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// commands are those beside the table, each of which answers for all cards. The answer to -q -x has the processes, which
// are to be as fresh as the table, and what changes slowly. -q alone prints another text, which nobody has published.
func commands() []model.Command {
	whole := model.SameArgs([]string{"-q", "-x"})
	return []model.Command{
		{Name: "processes", EveryPoll: true, Processes: true, Args: whole, Parse: parseXML},
		{Name: "details", Inventory: true, Every: 30 * time.Second, Args: whole, Parse: parseXML},
		// Not published either: the words of its help are those of nvidia-smi's matrix.
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"topo", "-m"}), Parse: model.IgnoreCards(parseTopology)},
		{Name: "temp", Lean: true, Every: time.Minute, When: isThere, Args: model.SameArgs(newQuery(fieldMemory).Args()), Parse: parseMemory},
	}
}

var parseTopology = smitext.TopologyParser(`GPU\d+`, `NIC\d+`)
