package fakesmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// ParseProcesses reads processes on cards, one a line: the card, the PID, the name and the
// memory in MiB. A card must be one of the devices.
func ParseProcesses(text string, devices []model.Device) ([]model.Process, error) {
	var all []model.Process
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("%q is no process, must be such as %q", strings.TrimSpace(line), "0 15652 python 60032")
		}
		pid, err := strconv.ParseUint(f[1], 10, 32)
		held, err2 := strconv.ParseUint(f[3], 10, 32)
		if err != nil || err2 != nil || pid == 0 {
			return nil, fmt.Errorf("%q is no process: PID and MiB must be numbers", strings.TrimSpace(line))
		}
		if !slices.ContainsFunc(devices, func(d model.Device) bool { return d.ID == f[0] }) {
			return nil, fmt.Errorf("%q is no process: there is no card %s", strings.TrimSpace(line), f[0])
		}
		all = append(all, model.Process{Device: f[0], PID: f[1], Name: f[2], UsedBytes: float64(held) * bytesPerMiB})
	}
	return all, nil
}
