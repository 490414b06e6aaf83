package ascend

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
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
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"info", "-t", "topo"}), Parse: model.IgnoreCards(ParseTopology)},
	}
}

// Margin names of the topology.
const (
	npuPrefix = "NPU"
	phyPrefix = "Phy-ID" // A3, where an NPU has two dies
)

var matrixNames = smitext.MatrixNames{
	Cards: regexp.MustCompile(`^(` + npuPrefix + `|` + phyPrefix + `)\d+$`),
	Peers: regexp.MustCompile(`^NIC\d+$`),
}

// ParseTopology reads the output of npu-smi info -t topo.
func ParseTopology(out []byte) (model.Report, error) {
	return smitext.ParseTopology(out, matrixNames)
}

// resolve finds the device of "NPU3", by NPU id where that is one device's, or of
// "Phy-ID12", which is printed where the table prints the same number.
func resolve(name string, devices []model.Device) string {
	if number, ok := strings.CutPrefix(name, phyPrefix); ok {
		return number
	}
	number, ok := strings.CutPrefix(name, npuPrefix)
	if !ok {
		return name
	}
	found, id, numbersDiffer := 0, "", false
	for i := range devices {
		d := &devices[i]
		if d.NPU == number {
			found, id = found+1, d.ID
		}
		numbersDiffer = numbersDiffer || d.ID != d.NPU
	}
	switch {
	case found == 1:
		return id
	case !numbersDiffer:
		return number // a card that is lost, and would be called so
	}
	return name // none, or several chips: which one is meant is not printed
}

// Classify returns what an error text of npu-smi or of the driver's interface
// (DCMI) means. Nearly all of them are printed to stdout, some with exit status 0.
func Classify(text []byte) (model.Reason, string, bool) {
	reason, line, ok := smitext.Match(text, append(smitext.LoaderPatterns(), []smitext.Pattern{
		{Text: "-8020", Reason: model.ReasonBusy},
		{Text: "the device is used", Reason: model.ReasonBusy},
		{Text: "-8005", Reason: model.ReasonDriver},
		{Text: "dcmi module initialize failed", Reason: model.ReasonDriver},
		{Text: "dcmi model initialized failed", Reason: model.ReasonDriver},
		{Text: "-8012", Reason: model.ReasonDriver},
		{Text: "-8002", Reason: model.ReasonPermission},
		{Text: "Operation not permitted", Reason: model.ReasonPermission},
		{Text: "Permission denied", Reason: model.ReasonPermission},
		{Text: "There is no NPU", Reason: model.ReasonNoDevice},
		{Text: "Failed to get card number", Reason: model.ReasonNoDevice},
		{Text: "Invalid card id", Reason: model.ReasonNoDevice},
		{Text: "does not support", Reason: model.ReasonUnsupported},
		{Text: "-8255", Reason: model.ReasonUnsupported},
		{Text: "cannot be executed on a VM", Reason: model.ReasonUnsupported},
		{Text: "Command or option is not found", Reason: model.ReasonUnsupported},
		{Text: "Error parameter of", Reason: model.ReasonUnsupported},
		// A question without one of its parameters, where another version needs none.
		{Text: "Must input parameter of", Reason: model.ReasonUnsupported},
		{Text: "This command must input", Reason: model.ReasonUnsupported},
	}...))
	if reason == model.ReasonDriver && bytes.Contains(text, []byte("cannot open shared object")) {
		line = fmt.Sprintf("%s (LD_LIBRARY_PATH must name the driver's lib64 folders)", line)
	}
	return reason, line, ok
}
