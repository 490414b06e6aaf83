package nvidia

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var (
	listedGPU = regexp.MustCompile(`^GPU (\d+): (.*) \(UUID: (GPU-[^)]+)\)$`)
	listedMIG = regexp.MustCompile(`^MIG \S+\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)$`)
)

// parseList reads the output of nvidia-smi -L. MIG instances stand below their GPU and are its slices:
//
//	GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)
//	  MIG 3g.40gb     Device  0: (UUID: MIG-…)
func parseList(out []byte) (model.Report, error) {
	var r model.Report
	known := map[string]bool{}
	card := "" // whose instances the lines are, "" where that is not known
	for raw := range bytes.Lines(out) {
		line := strings.TrimSpace(string(raw))
		gpu, mig := listedGPU.FindStringSubmatch(line), listedMIG.FindStringSubmatch(line)
		switch {
		case line == "":
		case gpu != nil && !known[gpu[1]]:
			known[gpu[1]], card = true, gpu[1]
			r.Listed = append(r.Listed, model.Device{ID: card, Name: gpu[2], UUID: gpu[3]})
		case mig != nil && card != "" && !known[mig[1]]:
			known[mig[1]] = true
			r.Slices = append(r.Slices, model.Slice{Device: card, ID: mig[1]})
		default:
			r.Warn("cannot read a line of the list: %.120q", line)
			if mig == nil {
				card = ""
			}
		}
	}
	if len(r.Listed) == 0 {
		return model.Report{}, failure.Errorf(failure.Parse, "no card in the list")
	}
	return r, nil
}

// Versions, in the output of --version or in the table's title. A newer driver also prints the older keys, without a
// version.
var (
	toolVersion   = version(`NVIDIA-SMI(?: version\s*:)?`)
	driverVersion = version(`(?:driver|KMD) version\s*:`)
	cudaVersion   = version(`CUDA(?: UMD)? version\s*:`)
)

func version(key string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + key + `\s*([0-9][0-9.]*)`)
}

// parseVersion reads the versions of tool, driver and CUDA.
func parseVersion(out []byte) (model.Report, error) {
	t := model.Tool{Name: tool}
	for _, f := range []struct {
		key   *regexp.Regexp
		value *string
	}{{toolVersion, &t.Version}, {driverVersion, &t.DriverVersion}, {cudaVersion, &t.RuntimeVersion}} {
		if m := f.key.FindSubmatch(out[:bytes.LastIndexByte(out, '\n')+1]); m != nil {
			*f.value = string(m[1])
		}
	}
	if t.Version == "" || t.DriverVersion == "" {
		return model.Report{}, failure.Errorf(failure.Parse, "no versions of %s and its driver", tool)
	}
	return model.Report{Tool: &t}, nil
}

// parseTopology reads the output of nvidia-smi topo -m.
var parseTopology = smitext.TopologyParser(`GPU\d+`, `NIC\d+`)
