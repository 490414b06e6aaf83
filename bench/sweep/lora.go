package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// model is what the request number seq of a step asks for: the run's model, or one
// of its LoRA modules. Which one at random follows from the seed, the step and the
// number alone, so that a run can be repeated.
func (r *run) model(step, seq int) string {
	modules := r.cfg.Run.LoRAModules
	switch {
	case len(modules) == 0:
		return r.cfg.Run.Model
	case r.cfg.Run.LoRAAssignment == runlog.LoRARoundRobin:
		return modules[seq%len(modules)]
	}
	drawn := sha256.Sum256(fmt.Appendf(nil, "lora/%d/%d/%d", r.cfg.Run.Seed, step, seq))
	return modules[binary.BigEndian.Uint64(drawn[:])%uint64(len(modules))]
}
