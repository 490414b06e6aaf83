package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
)

// teamFlags make a load one of several machines.
type teamFlags struct {
	lead, listen          string // addresses, empty for a load of one machine and for the same
	tokenFile             string
	webConfig, httpConfig string
	machines, rank        string // empty: as the launcher says
	joinTimeout           time.Duration
	allowFewer            bool
}

// ownFlags may differ between the machines of a load.
var ownFlags = []string{"--rank", "--output", "--lead-token-file", "--lead-listen-address", "--web.listen-address"}

func (m *teamFlags) register(c *kingpin.CmdClause) {
	m.lead = os.Getenv("ACCELBENCH_LEAD")
	c.Flag("lead", "Load from several machines: the first's address.").PlaceHolder("HOST:PORT").StringVar(&m.lead)
	c.Flag("machines", "").Hidden().StringVar(&m.machines)
	c.Flag("rank", "").Hidden().StringVar(&m.rank)
	c.Flag("lead-token-file", "").Hidden().StringVar(&m.tokenFile)
	c.Flag("join-timeout", "").Hidden().Default("60s").DurationVar(&m.joinTimeout)
	c.Flag("allow-fewer", "").Hidden().BoolVar(&m.allowFewer)
	c.Flag("lead-listen-address", "").Hidden().StringVar(&m.listen)
	c.Flag("lead-web-config", "").Hidden().StringVar(&m.webConfig)
	c.Flag("lead-http-config", "").Hidden().StringVar(&m.httpConfig)
}

// launchers say in the environment which of how many processes this is, the innermost first.
var launchers = []struct{ rank, size string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
	{"VC_TASK_INDEX", ""},
	{"JOB_COMPLETION_INDEX", ""},
}

// share is which machine this is: by the flags, else by the launcher's environment.
func (m *teamFlags) share(getenv func(string) string) (load.Share, error) {
	rank, machines := m.rank, m.machines
	for _, l := range launchers {
		if getenv(l.rank) != "" {
			rank, machines = cmp.Or(rank, getenv(l.rank)), cmp.Or(machines, getenv(l.size))
			break
		}
	}
	r, rankErr := strconv.ParseUint(rank, 10, 16)
	n, machinesErr := strconv.ParseUint(machines, 10, 16)
	switch {
	case rankErr != nil || machinesErr != nil:
		return load.Share{}, usage(fmt.Errorf("--lead needs numbers for --machines (%q) and --rank (%q): give them, or start by a launcher that sets them", machines, rank))
	case r >= n:
		return load.Share{}, usage(fmt.Errorf("--rank %d is none of %d machines, which are counted from 0", r, n))
	}
	return load.Share{Rank: int(r), Machines: int(n)}, nil
}

// identity is what all machines must have alike.
func identity(app *kingpin.Application, args []string, dataPath string) (load.Identity, error) {
	parsed, err := app.ParseContext(joinValues(args[1:]))
	if err != nil {
		return nil, usage(err)
	}
	id := load.Identity{"version": version.Version + " " + version.GetRevision(), "command": parsed.SelectedCommand.FullCommand()}
	for _, e := range parsed.Elements {
		name, value := "argument", e.Value
		if flag, isFlag := e.Clause.(*kingpin.FlagClause); isFlag {
			name = "--" + flag.Model().Name
		}
		if value != nil && !slices.Contains(ownFlags, name) {
			id[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(id[name]+*value)))
		}
	}
	if dataPath == "" {
		return id, nil
	}
	data, err := os.ReadFile(dataPath)
	if err != nil {
		return nil, fmt.Errorf("reading the data set: %w", err)
	}
	id["file of prompts"] = fmt.Sprintf("%x", sha256.Sum256(data))
	return id, nil
}

// startLead makes this machine the leader of a load, until stop.
func (m *teamFlags) startLead(ctx context.Context, machines int, id load.Identity) (lead *load.Lead, stop func(), err error) {
	token := ""
	if m.tokenFile != "" {
		text, err := os.ReadFile(m.tokenFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--lead-token-file: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return nil, nil, fmt.Errorf("--lead-token-file: %s is empty", m.tokenFile)
		}
	}
	address := cmp.Or(m.listen, m.lead)
	host, _, _ := net.SplitHostPort(address) // of which listening says what is wrong
	if ip := net.ParseIP(host); token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, nil, usage(fmt.Errorf("%s is not a loopback address: give all machines a --lead-token-file", address))
	}
	if err := web.Validate(m.webConfig); err != nil {
		return nil, nil, fmt.Errorf("--lead-web-config: %w", err)
	}
	lead = &load.Lead{Machines: machines, Identity: id, JoinTimeout: m.joinTimeout, AllowFewer: m.allowFewer}
	stop, err = serveAt(ctx, address, m.webConfig, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && subtle.ConstantTimeCompare([]byte("Bearer "+token), []byte(r.Header.Get("Authorization"))) != 1 {
			http.Error(w, "another --lead-token-file than the leader's", http.StatusUnauthorized)
			return
		}
		lead.ServeHTTP(w, r)
	}))
	if err != nil {
		return nil, nil, fmt.Errorf("--lead: %w", err)
	}
	return lead, stop, nil
}

// join makes the run one of several machines, where that is asked for: its leader until stop, or one that is led by follow.
func (s *runFlags) join(ctx context.Context, cfg *load.Config) (follow putter, stop func(), err error) {
	m := &s.team
	if m.lead == "" {
		return nil, func() {}, nil
	}
	share, err := m.share(os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	id, err := identity(s.Application, s.args, cfg.Dataset.Path)
	if err != nil {
		return nil, nil, err
	}
	if share.Rank == 0 {
		cfg.Run.AllowFewer = m.allowFewer
		cfg.Lead, stop, err = m.startLead(ctx, share.Machines, id)
		return nil, stop, err
	}
	c, err := loadHTTP("--lead-http-config", m.httpConfig)
	if err != nil {
		return nil, nil, err
	}
	if m.tokenFile != "" {
		c.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: m.tokenFile}
	}
	client, err := config.NewClientFromConfig(c, "lead")
	if err != nil {
		return nil, nil, fmt.Errorf("--lead-http-config: %w", err)
	}
	scheme := "http://"
	if m.webConfig != "" {
		scheme = "https://"
	}
	follower := load.Follower{URL: scheme + m.lead, Client: client, Share: share, Identity: id, JoinTimeout: m.joinTimeout}
	return follower.Run, func() {}, nil
}
