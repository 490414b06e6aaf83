package ascend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Vendor says how npu-smi and hccn_tool are asked. One npu-smi info holds what is needed
// often; the details cost a process for each card.
func Vendor() model.Vendor {
	return model.Vendor{
		Name:            "ascend",
		Tools:           []string{"npu-smi"},
		Table:           model.Command{Name: "table", Args: model.SameArgs([]string{"info"}), Parse: model.IgnoreCards(ParseInfo)},
		Commands:        slices.Concat(inventory(), details(), networkDetails()),
		NetworkTools:    []string{"hccn_tool", "/usr/local/Ascend/driver/tools/hccn_tool"}, // the second is where its package puts it
		ClassifyNetwork: ClassifyNetwork,
		Resolve:         resolve,
		Classify:        Classify,
	}
}

// inventory are the commands about what hardly changes.
func inventory() []model.Command {
	return []model.Command{
		{Name: "mapping", Inventory: true, Args: model.SameArgs([]string{"info", "-m"}), Parse: model.IgnoreCards(ParseMapping)},
		{Name: "list", Inventory: true, Args: model.SameArgs([]string{"info", "-l"}), Parse: model.IgnoreCards(ParseList)},
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"info", "-t", "topo"}), Parse: model.IgnoreCards(parseTopology)},
	}
}

// Margin names of the topology.
const (
	npuPrefix = "NPU"
	phyPrefix = "Phy-ID" // A3, where an NPU has two dies
)

// parseTopology reads the output of npu-smi info -t topo.
var parseTopology = smitext.TopologyParser(`(?:`+npuPrefix+`|`+phyPrefix+`)\d+`, `NIC\d+`)

// resolve finds the device of "NPU3", by NPU id where that is one device's, or of
// "Phy-ID12", which is printed where the table prints the same number.
func resolve(name string, devices []model.Device) string {
	if number, ok := strings.CutPrefix(name, phyPrefix); ok {
		return number
	}
	number, isNPU := strings.CutPrefix(name, npuPrefix)
	var found []string
	numbersDiffer := false
	for _, d := range devices {
		if d.NPU == number {
			found = append(found, d.ID)
		}
		numbersDiffer = numbersDiffer || d.ID != d.NPU
	}
	switch {
	case isNPU && len(found) == 1:
		return found[0]
	case isNPU && !numbersDiffer:
		return number // a card that is lost, and would be called so
	}
	return name // none, or several chips: which one is meant is not printed
}

// Classify returns what an error text of npu-smi or of the driver's interface
// (DCMI) means. Nearly all of them are printed to stdout, some with exit status 0.
func Classify(text []byte) (failure.Reason, string, bool) {
	reason, line, ok := smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "-8020", Reason: failure.Busy},
		{Text: "the device is used", Reason: failure.Busy},
		{Text: "-8005", Reason: failure.Driver},
		{Text: "dcmi module initialize failed", Reason: failure.Driver},
		{Text: "dcmi model initialized failed", Reason: failure.Driver},
		{Text: "-8012", Reason: failure.Driver},
		{Text: "-8002", Reason: failure.Permission},
		{Text: "Operation not permitted", Reason: failure.Permission},
		{Text: "Permission denied", Reason: failure.Permission},
		{Text: "There is no NPU", Reason: failure.NoDevice},
		{Text: "Failed to get card number", Reason: failure.NoDevice},
		{Text: "Invalid card id", Reason: failure.NoDevice},
		{Text: "does not support", Reason: failure.Unsupported},
		{Text: "-8255", Reason: failure.Unsupported},
		{Text: "cannot be executed on a VM", Reason: failure.Unsupported},
		{Text: "Command or option is not found", Reason: failure.Unsupported},
		{Text: "Error parameter of", Reason: failure.Unsupported},
		// A question without one of its parameters, where another version needs none.
		{Text: "Must input parameter of", Reason: failure.Unsupported},
		{Text: "This command must input", Reason: failure.Unsupported},
	}...))
	if reason == failure.Driver && bytes.Contains(text, []byte("cannot open shared object")) {
		line = fmt.Sprintf("%s (LD_LIBRARY_PATH must name the driver's lib64 folders)", line)
	}
	return reason, line, ok
}
