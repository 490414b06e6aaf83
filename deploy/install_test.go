package deploy

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestInstall runs install.sh beside package managers that print what they are asked: the package is the distribution's
// and the machine's, from a folder or a server, and nothing is installed that SHA256SUMS is not about.
func TestInstall(t *testing.T) {
	programtest.Need(t, "curl")
	site, bin := t.TempDir(), t.TempDir()
	folder := filepath.Join(site, "download/v1.2.3")
	var sums strings.Builder
	for _, name := range []string{"_1.2.3_amd64.deb", "_1.2.3_arm64.deb", "-1.2.3-1.x86_64.rpm", "-1.2.3-1.aarch64.rpm", "_1.2.3_x86_64.apk", "_1.2.3_aarch64.apk"} {
		programtest.Write(t, filepath.Join(folder, "accelerator-exporter"+name), name)
		fmt.Fprintf(&sums, "%x  accelerator-exporter%s\n", sha256.Sum256([]byte(name)), name)
	}
	programtest.Write(t, filepath.Join(folder, "SHA256SUMS"), sums.String())
	for program, text := range map[string]string{"id": "echo 0", "uname": `echo "$MACHINE"`, "dpkg": `echo dpkg "$@"`, "rpm": `echo rpm "$@"`, "apk": `echo apk "$@"`} {
		programtest.WriteScript(t, filepath.Join(bin, program), text)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	defer server.Close()
	install := func(machine, system, from string) (string, int) {
		programtest.Write(t, filepath.Join(bin, "os-release"), system)
		return programtest.Status(t, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "MACHINE=" + machine, "OS_RELEASE=" + bin + "/os-release", "RELEASES=" + server.URL}, "./install.sh", from)
	}
	for _, c := range []struct{ machine, system, asks, file string }{
		{"x86_64", "ID=debian", "dpkg --install", "_1.2.3_amd64.deb"},
		{"aarch64", "ID=kylin\nID_LIKE=debian", "dpkg --install", "_1.2.3_arm64.deb"},
		{"x86_64", `ID="openEuler"`, "rpm --upgrade --replacepkgs", "-1.2.3-1.x86_64.rpm"},
		{"aarch64", `ID="kylin"`, "rpm --upgrade --replacepkgs", "-1.2.3-1.aarch64.rpm"},
		{"aarch64", "ID=alpine", "apk add --allow-untrusted", "_1.2.3_aarch64.apk"},
	} {
		for _, from := range []string{folder, "1.2.3"} {
			out, status := install(c.machine, c.system, from)
			line, next, _ := strings.Cut(out, "\n")
			if status != 0 || !strings.HasPrefix(line, c.asks+" /") || !strings.HasSuffix(line, "/accelerator-exporter"+c.file) || strings.Count(next, "\n  ") != 3 {
				t.Errorf("%s of %s on %s: %d\n%s", c.system, from, c.machine, status, out)
			}
		}
	}
	programtest.Write(t, filepath.Join(folder, "accelerator-exporter_1.2.3_amd64.deb"), "changed")
	for _, c := range [][3]string{{"x86_64", folder, "not the file"}, {"x86_64", "1.2.3", "not the file"}, {"x86_64", "9.9.9", "cannot fetch"}, {"riscv64", folder, "no release"}} {
		if out, status := install(c[0], "ID=debian", c[1]); status != 1 || !strings.Contains(out, c[2]) || strings.Contains(out, "dpkg") {
			t.Errorf("from %s on %s: %d\n%s", c[1], c[0], status, out)
		}
	}
}
