//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// served waits for the address that a program logs when it serves.
func served(t *testing.T, p *programtest.Process) (address string) {
	t.Helper()
	logged := regexp.MustCompile(`(?:Listening on".*|msg=serving.*) address=(?:http://)?(127\.0\.0\.1:[1-9]\d*)`)
	programtest.Eventually(t, time.Minute, "it serves", func() error {
		m := logged.FindStringSubmatch(p.Log(t))
		if m == nil {
			return fmt.Errorf("no address in its log:\n%s", p.Log(t))
		}
		address = m[1]
		return nil
	})
	return address
}

// orphans are processes of programs in a folder that still run.
func orphans(dir string) []string {
	var found []string
	processes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range processes {
		if path, err := os.Readlink(exe); err == nil && strings.HasPrefix(path, dir+"/") {
			found = append(found, fmt.Sprintf("%s runs %s", filepath.Base(filepath.Dir(exe)), path))
		}
	}
	return found
}
