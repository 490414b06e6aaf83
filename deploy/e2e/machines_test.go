//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// machines starts a load of three processes by the lines of the guide: by hand, by Open MPI and by Slurm.
func machines(t *testing.T, p programs) {
	guide := programtest.Read(t, "../../docs/accelbench.md")
	line := func(begin string) string {
		found := regexp.MustCompile("[`\n]" + begin + "[^`\n#]*").FindString(guide)
		if found == "" {
			t.Fatalf("the guide has no line that begins with %s", begin)
		}
		return found[1:]
	}
	t.Run("by hand", func(t *testing.T) {
		run := strings.NewReplacer("node-1:", "localhost:", "--rank 0", "--rank $1").Replace(line("accelbench run --lead"))
		loadOfThree(t, p, run, "sh run 2 & sh run 1 & sh run 0; wait")
	})
	t.Run("mpirun", func(t *testing.T) {
		programtest.Need(t, "mpirun")
		run := strings.NewReplacer("node-1,node-2,node-3", "localhost,localhost,localhost", "node-1:", "localhost:").Replace(line("mpirun"))
		loadOfThree(t, p, run, "sh run", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	})
	t.Run("srun", func(t *testing.T) {
		programtest.Need(t, "slurmctld", "slurmd", "sbatch", "srun", "sinfo", "squeue")
		// Its own --wait looks every half a minute.
		wait := `; while [ -n "$(squeue --noheader)" ]; do sleep 0.1; done`
		loadOfThree(t, p, line("srun"), line("sbatch")+" run"+wait, "SLURM_CONF="+startSlurm(t))
	})
}

// loadOfThree writes the line of a load into the file run, starts it by a command, and looks at the one report.
func loadOfThree(t *testing.T, p programs, line, command string, env ...string) {
	t.Helper()
	vllm := served(t, programtest.Run(t, "vllm", nil, p.path("fakehost"), "vllm", "--listen-address=127.0.0.1:0", "--speed=100", "--output-tokens=8"))
	dir := t.TempDir()
	_, port, _ := strings.Cut(programtest.FreeAddress(t), ":")
	line = strings.NewReplacer(":10070", ":"+port, "…", "--base-url http://"+vllm+" --max-concurrency 7 --num-prompts 100 --output results").Replace(line)
	programtest.Write(t, filepath.Join(dir, "token"), "secret")
	programtest.Write(t, filepath.Join(dir, "run"), "#!/bin/sh\n"+line+"\n")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PATH="+string(p)+":"+os.Getenv("PATH")), env...)
	out, err := cmd.CombinedOutput()
	logs, _ := filepath.Glob(filepath.Join(dir, "slurm-*.out"))
	for _, log := range logs {
		out = append(out, programtest.Read(t, log)...)
	}
	reports, _ := filepath.Glob(filepath.Join(dir, "results", "*", "report.json"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("%s: %v, reports %q\n%s\n%s", command, err, reports, line, out)
	}
	var report struct {
		Steps []struct {
			Machines int
			Account  struct{ Attempted, Succeeded int }
		}
	}
	programtest.NoError(t, json.Unmarshal([]byte(programtest.Read(t, reports[0])), &report))
	if s := report.Steps; len(s) != 1 || s[0].Machines != 3 || s[0].Account.Attempted != 100 || s[0].Account.Succeeded != 100 {
		t.Errorf("of 100 requests from 3 machines: %+v\n%s", s, out)
	}
}

// startSlurm starts Slurm with three nodes, all of this host, and returns the path of its configuration. It asks nobody
// for a credential, so it listens on the loopback only.
func startSlurm(t *testing.T) (conf string) {
	t.Helper()
	dir := t.TempDir()
	me, err := user.Current()
	programtest.NoError(t, err)
	port := func() string {
		_, port, _ := strings.Cut(programtest.FreeAddress(t), ":")
		return port
	}
	text := fmt.Sprintf(`
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=%[1]s
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/none
CredType=cred/none
SlurmUser=%[2]s
SlurmdUser=%[2]s
StateSaveLocation=%[3]s/state
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/%%n.pid
SlurmdSpoolDir=%[3]s/%%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MailProg=/bin/true
PartitionName=all Nodes=ALL Default=YES
`, port(), me.Username, dir)
	nodes := []string{"n1", "n2", "n3"}
	for _, node := range nodes {
		text += fmt.Sprintf("NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%s\n", node, port())
	}
	conf = filepath.Join(dir, "slurm.conf")
	programtest.Write(t, conf, text)
	for _, folder := range append(nodes, "state") {
		programtest.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	env := []string{"SLURM_CONF=" + conf}
	programtest.Run(t, "slurmctld", env, "slurmctld", "-D")
	for _, node := range nodes {
		programtest.Run(t, "slurmd of "+node, env, "slurmd", "-D", "-N", node)
	}
	programtest.Eventually(t, time.Minute, "three nodes are idle", func() error {
		sinfo := exec.Command("sinfo", "--noheader", "--format=%D %t")
		sinfo.Env = append(os.Environ(), env...)
		if out, err := sinfo.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "3 idle" {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	return conf
}
