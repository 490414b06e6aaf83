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
		text := fmt.Sprintf("#!/bin/sh\necho \"%s $*\" >>%s\nif read -r line; then echo stdin >>%[2]s; fi\ncase \"$*\" in\n%s\nesac\n", name, log, answers)
		programtest.Write(t, filepath.Join(bin, name), text)
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folder = filepath.Join(t.TempDir(), "captures")
	cmd := exec.CommandContext(t.Context(), sh, filepath.Join(programtest.Root(t), "deploy/collect.sh"), "-o", folder, "-t", "1")
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
	})
	want := strings.Split(strings.TrimSpace(`
mx-smi
mx-smi -L
mx-smi -s
mx-smi -j
mx-smi topo -m
mx-smi topo -n
mx-smi --count-ecc --show-ecc-state --show-clk-tr --show-pcie --show-pcie-bandwidth --show-hbm-bandwidth
mx-smi --count-ecc
mx-smi --show-ecc-state
mx-smi --show-clk-tr
mx-smi --show-pcie
mx-smi --show-pcie-bandwidth
mx-smi --show-hbm-bandwidth
mx-smi --show-temperature
mx-smi --show-metaxlink-bandwidth
mx-smi --show-pcie-slot
mx-smi mxlk --show
mx-smi mxlk --show-state
mx-smi mxlk --show-peer
mx-smi mxlk --show-traffic-stat
mx-smi mxlk --show-aer
mx-smi eth --show-bandwidth
mx-smi eth --show-usage
mx-smi eth --show-ras-count
mx-smi eth --show-status
mx-smi eth --show-clock
mx-smi om --show-status
mx-smi om --show-info
mx-smi om --show-rx-status
mx-smi ras --show-count
mx-smi ras --show-status -i 2
mx-smi misc --show-critical-event
mx-smi misc --show-pcie-event --detail
npu-smi info
npu-smi info -l
npu-smi info -m
npu-smi info -t topo
npu-smi info -t usages -i 4
npu-smi info -t common -i 4
npu-smi info -t ecc -i 4
npu-smi info -t ecc-enable -i 4
npu-smi info -t memory -i 4
npu-smi info -t temp -i 4
npu-smi info -t volt -i 4
npu-smi info -t board -i 4
npu-smi info -t hccs -i 4 -c 0
npu-smi info -t hccs -i 4
npu-smi info -t xlink -i 4 -c 0
npu-smi info -t xlink -i 4
npu-smi info -t sensors -i 4 -c 0
npu-smi info -t sensors -i 4
npu-smi info -t pcie-err -i 4 -c 0
npu-smi info -t pcie-err -i 4
npu-smi info -t sio-info -i 4 -c 0
npu-smi info -t sio-info -i 4
npu-smi info -t health -i 4 -c 0
npu-smi info -t health -i 4
npu-smi info -t current-fault-event -i 4 -c 0
npu-smi info -t current-fault-event -i 4
npu-smi info watch
hccn_tool -i 8 -link -g
hccn_tool -i 8 -link_stat -g
hccn_tool -i 8 -stat -g
hccn_tool -i 8 -speed -g
hccn_tool -i 8 -net_health -g
hccn_tool -i 8 -optical -g
hccn_tool -g -dev_info -i 4
hccn_tool -g -link -i 4 -u 1 -p 6
hccn_tool -g -link_stat -i 4 -u 1 -p 6
hccn_tool -g -stat -i 4 -u 1 -p 6
hccn_tool -g -speed -i 4 -u 1 -p 6
hccn_tool -g -optical -i 4 -u 1 -p 6
`), "\n")
	for i := range asked {
		asked[i] = strings.TrimSpace(asked[i])
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("want (-) and asked (+) differ:\n%s", diff)
	}
	var all strings.Builder
	for _, name := range fileNames(t, folder) {
		all.WriteString(programtest.Read(t, filepath.Join(folder, name)))
	}
	for _, secret := range []string{"SECRET", "df110ed1", "192.168.", "255.255.", "dfdf"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%q is not masked", secret)
		}
	}
	for _, kept := range []string{"BIOS   : 1.33.5.0", "temperature          : 46 C", "GPU#2    MXC500      0000:37:00.0", `"device_id": 2`, "exit status 20", "| 1       | 6       | 400 "} {
		if !strings.Contains(all.String(), kept) {
			t.Errorf("%q is not in what was written", kept)
		}
	}
	if text := programtest.Read(t, filepath.Join(folder, "npu-smi-info-watch.txt")); strings.Count(text, "90.1") < 2 {
		t.Errorf("of watch there is %q, want what was printed until it was ended", text)
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
	for _, name := range fileNames(t, folder) {
		if size := len(programtest.Read(t, filepath.Join(folder, name))); size > 2<<20 {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
}

func fileNames(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
