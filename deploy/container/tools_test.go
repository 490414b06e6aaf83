package container

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// tool is a vendor's tool as a host has it: dynamically linked, with a library
// of the driver's.
type tool struct {
	vendor, heading string
	program         string // on the host
	library         string // of the driver
	runpath         string // how the program finds it; else by LD_LIBRARY_PATH
	answers         string // folder with what it prints, mounted like the rest
	questions       []string
	others          []string // files that are mounted and not read here
	devices         []string
}

var tools = []tool{
	{
		vendor: "metax", heading: "### MetaX",
		program: "/opt/mxdriver/bin/mx-smi", library: "/opt/mxdriver/lib/libmxsml.so", runpath: "$ORIGIN/../lib",
		answers:   "/opt/mxdriver/share",
		questions: []string{"", "-L", "topo -n", "topo -m"},
		devices:   []string{"/dev/dri"},
	},
	{
		vendor: "ascend", heading: "### Ascend",
		program: "/usr/local/bin/npu-smi", library: "/usr/local/Ascend/driver/lib64/common/libc_sec.so",
		answers:   "/usr/local/dcmi",
		questions: []string{"info", "info -m", "info -l", "info -t topo"},
		others:    []string{"/usr/local/Ascend/driver/version.info", "/usr/local/Ascend/driver/tools/upgrade-tool", "/etc/ascend_install.info"},
		devices:   []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/davinci[0-9]*"},
	},
}

const programSource = `#include <string.h>
int print_answer(const char *dir, const char *name);
int main(int argc, char **argv) {
	char name[256] = "answer";
	for (int i = 1; i < argc; i++) {
		strncat(name, " ", sizeof name - strlen(name) - 1);
		strncat(name, argv[i], sizeof name - strlen(name) - 1);
	}
	return print_answer(ANSWERS, name);
}
`

// install makes a host's tree with the tool in it. fakehost says what to print.
func (v tool) install(t *testing.T, host, fakehost string) {
	t.Helper()
	source := t.TempDir()
	programtest.Write(t, source+"/library.c", programtest.ToolLibrary)
	programtest.Write(t, source+"/program.c", programSource)
	for _, file := range []string{v.program, v.library} {
		programtest.Write(t, host+file, "")
	}
	output(t, source, "gcc", "-shared", "-fPIC", "-o", host+v.library, "library.c")
	line := []string{"-DANSWERS=\"" + v.answers + "\"", "-o", host + v.program, "program.c", host + v.library}
	if v.runpath != "" {
		line = append(line, "-Wl,-rpath,"+v.runpath)
	}
	// By its name only, as the vendors link: the path of the build is not in it.
	output(t, filepath.Dir(host+v.library), "gcc", "-shared", "-fPIC", "-Wl,-soname,"+filepath.Base(v.library),
		"-o", host+v.library, source+"/library.c")
	output(t, source, "gcc", line...)
	t.Setenv("FAKEHOST_STATE", t.TempDir())
	for _, q := range v.questions {
		args := append([]string{filepath.Base(v.program)}, strings.Fields(q)...)
		programtest.Write(t, host+v.answers+"/"+strings.TrimSpace("answer "+q), output(t, source, fakehost, args...))
	}
	for _, name := range v.others {
		programtest.Write(t, host+name, "")
	}
}

// readmeRun is the docker run of README.md below a heading.
type readmeRun struct {
	mounts  []programtest.Mount
	devices []string
	args    []string // of the exporter
}

func readReadme(t *testing.T, heading string) readmeRun {
	t.Helper()
	_, below, ok := strings.Cut(programtest.Read(t, "README.md"), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("README.md has no %q", heading)
	}
	block := firstMatch(t, below, "(?s)```sh\n(docker run.*?)```")
	var run readmeRun
	for _, m := range regexp.MustCompile(`--volume (\S+?):(\S+?):ro`).FindAllStringSubmatch(block, -1) {
		run.mounts = append(run.mounts, programtest.Mount{Source: m[1], Target: m[2]})
	}
	for _, m := range regexp.MustCompile(`--device(?: %s ')? (/dev/[^ )]+)`).FindAllStringSubmatch(block, -1) {
		run.devices = append(run.devices, m[1])
	}
	_, args, ok := strings.Cut(block, "accelerator-exporter:"+strings.TrimSpace(programtest.Read(t, "../../VERSION")))
	if !ok {
		t.Fatalf("README.md runs another version:\n%s", block)
	}
	run.args = strings.Fields(strings.ReplaceAll(args, "\\", ""))
	return run
}

// fromHost are the mounts that take the C library; the rest is the vendor's.
var fromHost = regexp.MustCompile(`^(/usr)?/lib(64)?$|^/etc/ld\.so\.cache$`)

// on maps the vendor's mounts to a made-up host, and leaves out what this
// machine does not have, as README.md says.
func (r readmeRun) on(t *testing.T, host string) []programtest.Mount {
	t.Helper()
	var mounts []programtest.Mount
	for _, m := range r.mounts {
		if !fromHost.MatchString(m.Source) {
			mounts = append(mounts, programtest.Mount{Source: host + m.Source, Target: m.Target})
		} else if _, err := os.Stat(m.Source); err == nil {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// testTools runs a dynamically linked tool of the host from inside the image,
// with the mounts that README.md names, and without some of them.
func testTools(t *testing.T, s *store, i image) {
	need(t, "gcc")
	if runtime.GOOS != "linux" {
		programtest.Lacking(t, "Linux")
	}
	for _, v := range tools {
		t.Run(v.vendor, func(t *testing.T) {
			run := readReadme(t, v.heading)
			if got := strings.Join(run.devices, " "); got != strings.Join(v.devices, " ") {
				t.Errorf("README.md gives the devices %s, want %s", got, v.devices)
			}
			root, host := s.unpack(t, "exporter:prebuilt"), t.TempDir()
			v.install(t, host, root+"/usr/local/bin/fakehost")
			mounts := run.on(t, host)
			t.Run("with all mounts", func(t *testing.T) {
				runTool(t, i, root, mounts, run.args,
					fmt.Sprintf(`accelerator_devices{vendor="%s"} 8`, v.vendor),
					fmt.Sprintf(`accelerator_collector_success{collector="%s"} 1`, v.vendor),
					fmt.Sprintf(`accelerator_parse_warnings_total{collector="%s"} 0`, v.vendor),
					`accelerator_link_info{device="0",link="`)
			})
			t.Run("without the C library", func(t *testing.T) {
				runTool(t, i, s.unpack(t, "exporter:prebuilt"), without(mounts, fromHost), run.args, failure(v.vendor, "not_found"))
			})
		})
	}
	t.Run("without the driver's libraries", func(t *testing.T) {
		v := tools[1]
		root, host := s.unpack(t, "exporter:prebuilt"), t.TempDir()
		v.install(t, host, root+"/usr/local/bin/fakehost")
		run := readReadme(t, v.heading)
		mounts := without(run.on(t, host), regexp.MustCompile("^/usr/local/Ascend/driver/lib64$"))
		runTool(t, i, root, mounts, run.args, failure(v.vendor, "driver"))
	})
}

func without(mounts []programtest.Mount, targets *regexp.Regexp) []programtest.Mount {
	var rest []programtest.Mount
	for _, m := range mounts {
		if !targets.MatchString(m.Target) {
			rest = append(rest, m)
		}
	}
	return rest
}

// failure is the series of a first failure, whose count grows while the test looks.
func failure(vendor, reason string) string {
	return fmt.Sprintf(`accelerator_collector_failures_total{collector="%s",reason="%s"} 1`, vendor, reason)
}

func runTool(t *testing.T, i image, root string, mounts []programtest.Mount, args []string, texts ...string) {
	t.Helper()
	address := programtest.FreeAddress(t)
	// An hour between two questions: the first answer is the one that is looked at.
	c := start(t, i, root, mounts, nil, append(args, "--web.listen-address="+address, "--collector.interval=1h")...)
	programtest.Eventually(t, patience, "the exporter's page", contains(t, "http://"+address+"/metrics", texts...))
	confined(t, c.Pid)
	stop(t, c)
}
