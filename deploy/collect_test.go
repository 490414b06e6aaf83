// Package deploy is the module of what tests the dashboards, the rules and the
// ways to deploy against the real programs' own libraries. It is a module of its own so that the
// exporter's stays small; no Go code here is shipped.
package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// collect runs collect.sh beside tools of ours, and returns where it wrote and what was asked
// of them, a line a call. A tool that has something to read asks for "stdin".
func collect(t *testing.T, tools map[string]string) (folder string, asked []string) {
	t.Helper()
	sh := programtest.Find(t, "sh")
	programtest.Need(t, "sed", "awk", "tar")
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	for name, answers := range tools {
		text := fmt.Sprintf("echo \"%s $*\" >>%s\nif read -r line; then echo stdin >>%[2]s; fi\ncase \"$*\" in\n%s\nesac\n", name, log, answers)
		programtest.WriteScript(t, filepath.Join(bin, name), text)
	}
	folder = filepath.Join(t.TempDir(), "captures")
	cmd := exec.CommandContext(t.Context(), sh, filepath.Join(programtest.Root(t), "deploy/collect.sh"), "-o", folder, "-t", "2")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader("y\ny\n") // a tool must not get it
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder, strings.Split(strings.TrimSpace(programtest.Read(t, log)), "\n")
}

// What is not asked, nobody sends in; what is no reading command must not be run on a user's
// cards.
func TestCollectAsks(t *testing.T) {
	folder, asked := collect(t, map[string]string{
		"mx-smi": `
-L) echo 'GPU#2    MXC500      0000:37:00.0   Available (UUID: GPU-df110ed1-56d2-e35b-d97b-e23bca667d75)' ;;
-s) echo '        board serial          : SECRET1'; echo '        chip serial            : SECRET2'; echo '    BIOS   : 1.33.5.0' ;;
-j) echo '{"a": {"board_sn": "SECRET3", "chip_serial_number": "SECRET4", "device_id": 2}}' ;;`,
		"npu-smi": `
'info -l') printf '\tTotal Count                    : 1\n\n\tNPU ID                         : 4\n\tChip Count                     : 2\n' ;;
'info -m') printf 'NPU ID          Slot ID          Chip ID          Chip Phy-ID          Chip Name\n4               0                0                8                    xxx\n' ;;
'info watch') while :; do echo '4           0           90.1'; sleep 0.1; done ;;
'info -t board -i 4') printf '\tProduct Name                   : xxx\n\tMain Board Serial Number       : SECRET5\n\tDDie ID                        : SECRET6\n' ;;`,
		"hccn_tool": `
'-i 8 -optical -g') echo 'vendor serial number : SECRET7'; echo 'temperature          : 46 C'; echo 'Optical module is not present.' >&2; exit 20 ;;
'-g -dev_info -i 4') cat <<'END'
| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link Status | Media Type |
| 0       | 5       | 400                 | UB        | DOWN        | Electrical |
| 1       | 6       | 400                 | UB        | UP          | Electrical |
| end0v0          | 192.168.2.199  | 255.255.255.0     | NA        | NA              |
| ipourma0        | ::10:0:dfdf:51 | ffff:ffff:ffff:: | NA        | NA              |
| udma1           | 0         | 0000:0000:0000:0000:0010:0000:dfdf:0020 |
END
;;`,
		"nvidia-smi": `-L) echo 'GPU 0: NVIDIA H100 (UUID: GPU-df110ed1-56d2-e35b-d97b-e23bca667d75)' ;;`,
		"ixsmi":      `'-q -x') echo '<serial>SECRET10</serial><uuid>SECRET11</uuid><product_name>MR-V100</product_name>' ;;`,
		"xpu_smi":    `-m) echo '00000000:03:00.0 0 0 02K15K600SECRETX 36 0 "P800 OAM"' ;;`,
		"xpu-smi":    "", // the same program
		"efsmi": `
-L) echo ' 0     A0A7PSECRET12     PCIE5 (X16)    1e36:c035    0000:0d:00.0    0-7,32-39        TPUH90200803' ;;
*) echo '| 39 C   Sleep    105W  300W | 49120MiB Disable|   0.0%      A07SECRET0015 |' ;;`,
		"mthreads-gmi": `'--query --json') echo '{"GPU UUID": "df110ed1-a8ba-0147-a893-c2eeca9e302f", "Serial Number": "SECRET13", "MTBios Version": "4.3.41"}' ;;`,
		"hy-smi":       `--showbus) printf 'HCU[0]\t\t: PCI Bus: 0000:09:00.0 --> SN: SECRET8 --> OAM ID: 1\nHCU[0]\t\t: Unique ID: SECRET9\n' ;;`,
	})
	want := strings.Split(strings.TrimSpace(programtest.Read(t, "testdata/collect.txt")), "\n")
	for i := range asked {
		asked[i] = strings.TrimSpace(asked[i])
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("want (-) and asked (+) differ:\n%s", diff)
	}
	text := written(t, folder)
	for _, secret := range []string{"SECRET", "df110ed1", "TPUH", "192.168.", "255.255.", "dfdf"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is not masked", secret)
		}
	}
	for _, kept := range []string{"BIOS   : 1.33.5.0", "temperature          : 46 C", "GPU#2    MXC500      0000:37:00.0", `"device_id": 2`, "exit status 20", "0000:09:00.0", "MR-V100", "P800 OAM", "0000:0d:00.0    0-7,32-39", "49120MiB", "4.3.41", "OAM ID: 1", "| 1       | 6       | 400 "} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is not in what was written", kept)
		}
	}
	if watched := programtest.Read(t, filepath.Join(folder, "npu-smi-info-watch.txt")); strings.Count(watched, "90.1") < 2 {
		t.Errorf("of watch there is %q, want what was printed until it was ended", watched)
	}
}

// A tool that hangs or prints without end must not hang the script or fill the disk.
func TestCollectIsBounded(t *testing.T) {
	folder, asked := collect(t, map[string]string{
		"mx-smi":    `-s) echo begun; sleep 600 ;;`,
		"npu-smi":   `info) exec yes 'a row without end' ;;`,
		"hccn_tool": "",
	})
	count := map[string]int{}
	for _, call := range asked {
		name, _, _ := strings.Cut(call, " ")
		count[name]++
	}
	want := map[string]int{"mx-smi": 3, "npu-smi": 5, "hccn_tool": 7} // up to the one that hung; those about no card; on a 0
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("calls: want (-) and got (+) differ:\n%s", diff)
	}
	if got := programtest.Read(t, filepath.Join(folder, "mx-smi-s.txt")); got != "begun\n" {
		t.Errorf("of the tool that hung there is %q", got)
	}
	if size := len(written(t, folder)); size > 4<<20 {
		t.Errorf("it wrote %d bytes", size)
	}
}

// written is the text of all files of a folder.
func written(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	programtest.NoError(t, err)
	var all strings.Builder
	for _, name := range files {
		all.WriteString(programtest.Read(t, name))
	}
	return all.String()
}
