package process

import (
	"errors"
	"fmt"
	"os"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// initialNamespace is what the kernel calls the PID namespace that it starts with, in
// every version that has such namespaces.
const initialNamespace = "pid:[4026531836]"

// CheckHostPIDs returns nil where the numbers in there are the host's, and else why they
// are not. Where we are in the host's PID namespace, a procfs that shows us is the host's.
// Seen from another namespace it is the one where kthreadd has its number: kernel threads
// are in no other.
func (fs FS) CheckHostPIDs() error {
	self := string(fs) + "/self"
	if _, err := os.Stat(self); err != nil {
		return fmt.Errorf("reading %s: %w", self, failure.Cause(err))
	}
	namespace, err := os.Readlink(self + "/ns/pid")
	if errors.Is(err, os.ErrNotExist) || namespace == initialNamespace {
		return nil // a kernel without namespaces has one only
	}
	const kthreadd, kernelThread = 2, 0x00200000 // PF_KTHREAD of the kernel, which no program can have
	if st, ok := fs.Stat(kthreadd); ok && st.Flags&kernelThread != 0 && st.PPID == 0 {
		return nil
	}
	return fmt.Errorf("%s has the PIDs of a container, not the host's", string(fs))
}
