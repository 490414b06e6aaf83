package nvidia

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// commands are those beside the table.
func commands() []model.Command {
	return []model.Command{
		{Name: "processes", EveryPoll: true, Processes: true, Args: model.SameArgs(processes.Args()), Parse: processes.parseProcesses},
		{Name: "fields", Inventory: true, Args: model.SameArgs([]string{"--help-query-gpu"}), Parse: model.IgnoreCards(parseFields), More: queries},
		{Name: "topology", Inventory: true, Args: model.SameArgs([]string{"topo", "-m"}), Parse: model.IgnoreCards(parseTopology)},
		// The title of the table has the versions too, where a driver refuses to print them alone.
		{Name: "version", Inventory: true, Args: model.SameArgs([]string{"--version"}, []string{}), Parse: model.IgnoreCards(parseVersion)},
		{Name: "list", Inventory: true, Every: time.Minute, Args: model.SameArgs([]string{"-L"}), When: mayBeSliced, Parse: model.IgnoreCards(parseList)},
	}
}

// mayBeSliced reports whether a card prints no utilization, as one in MIG mode does.
func mayBeSliced(d *model.Device) bool { return !d.Readings.Has("utilization_ratio") }

var helpField = regexp.MustCompile(`"([a-z_]+(?:\.[A-Za-z_]+)*)"`)

// knownFields are what the tool's help says that can be asked: lines such as
//
//	"clocks.current.graphics" or "clocks.gr"
func knownFields(out []byte) map[string]bool {
	known := map[string]bool{}
	if !strings.Contains(string(out), `"--query-gpu"`) {
		return known
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, `"`) {
			continue
		}
		for _, m := range helpField.FindAllStringSubmatch(line, -1) {
			known[m[1]] = true
		}
	}
	return known
}

// parseFields checks that the help lists fields; it holds no readings.
func parseFields(out []byte) (model.Report, error) {
	if !knownFields(out)["index"] {
		return model.Report{}, failure.Errorf(failure.Parse, "no fields in the output")
	}
	return model.Report{}, nil
}

// queries are the questions for what the driver has beyond the main query.
func queries(out []byte, _ model.Device) []model.Command {
	known := knownFields(out)
	rows := slices.DeleteFunc(slices.Clone(detailRows), func(r smitext.Row) bool {
		reason, isOlder := strings.CutPrefix(r.Word, "clocks_throttle_reasons.")
		return !known[r.Word] || isOlder && known["clocks_event_reasons."+reason]
	})
	details := newCardQuery(words(rows))
	all := []model.Command{{Name: "details", Lean: true, Every: 30 * time.Second, Args: model.SameArgs(details.Args()), Parse: details.parseDetails}}
	if known[recovery] {
		all = append(all, model.Command{Name: "health", Inventory: true, Every: time.Minute, Args: model.SameArgs(health.Args()), Parse: model.IgnoreCards(health.parseHealth)})
	}
	return all
}

func (q query) parseDetails(out []byte, cards []model.Device) (model.Report, error) {
	blocks, r, err := q.ReadCardBlocks(out)
	if err != nil {
		return r, err
	}
	read, err := detailRows.ReadCards(blocks, smitext.FindCard, cards)
	if err == nil {
		read.Warnings.Join(r.Warnings)
	}
	return read, err
}

// recovery is the field for what the driver asks to be done about a card: None for one that is well.
const recovery = "gpu_recovery_action"

var health = newCardQuery([]string{recovery})

func (q query) parseHealth(out []byte) (model.Report, error) {
	blocks, r, err := q.ReadCardBlocks(out)
	for i := range blocks {
		d := device(&blocks[i])
		if action := blocks[i].Value(recovery); !smitext.Absent(action) {
			d.Health = &model.Health{OK: action == "None", State: action}
		}
		r.Listed = append(r.Listed, d)
	}
	return r, err
}
