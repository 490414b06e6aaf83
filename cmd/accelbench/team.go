package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
)

// teamFlags make a load one of several machines.
type teamFlags struct {
	load.Team
	lead                             string // address, empty for a load of one machine
	tokenFile, webConfig, httpConfig string
}

// ownFlags may differ between the machines of a load.
var ownFlags = []string{"--rank", "--output", "--lead-token-file", "--web.listen-address"}

func (m *teamFlags) register(c *kingpin.CmdClause) {
	m.lead = os.Getenv("ACCELBENCH_LEAD")
	// Launchers say which of how many processes this is, the innermost first.
	env := os.Getenv
	machines := cmp.Or(env("OMPI_COMM_WORLD_SIZE"), env("PMI_SIZE"), env("SLURM_NTASKS"), "-1")
	rank := cmp.Or(env("OMPI_COMM_WORLD_RANK"), env("PMI_RANK"), env("SLURM_PROCID"), env("VC_TASK_INDEX"), env("JOB_COMPLETION_INDEX"), "-1")
	c.Flag("lead", "Load from several machines: the first's address.").PlaceHolder("HOST:PORT").StringVar(&m.lead)
	c.Flag("machines", "").Hidden().Default(machines).IntVar(&m.Machines)
	c.Flag("rank", "").Hidden().Default(rank).IntVar(&m.Rank)
	c.Flag("lead-token-file", "").Hidden().StringVar(&m.tokenFile)
	c.Flag("join-timeout", "").Hidden().Default("60s").DurationVar(&m.JoinTimeout)
	c.Flag("allow-fewer", "").Hidden().BoolVar(&m.AllowFewer)
	c.Flag("lead-web-config", "").Hidden().StringVar(&m.webConfig)
	c.Flag("lead-http-config", "").Hidden().StringVar(&m.httpConfig)
}

// identity is what all machines must have alike.
func identity(app *kingpin.Application, args []string, dataPath string) (map[string]string, error) {
	parsed, _ := app.ParseContext(joinValues(args[1:])) // as they were parsed before
	id := map[string]string{"version": version.Version + " " + version.GetRevision(), "command": parsed.SelectedCommand.FullCommand()}
	for _, e := range parsed.Elements {
		name, value := "argument", e.Value
		if flag, isFlag := e.Clause.(*kingpin.FlagClause); isFlag {
			name = "--" + flag.Model().Name
		}
		if value != nil && !slices.Contains(ownFlags, name) {
			id[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(id[name]+*value)))
		}
	}
	if dataPath != "" {
		data, err := os.ReadFile(dataPath)
		if err != nil {
			return nil, fmt.Errorf("reading the data set: %w", err)
		}
		id["file of prompts"] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return id, nil
}

// startLead makes this machine the leader of a load, until stop.
func (m *teamFlags) startLead(ctx context.Context) (lead *load.Lead, stop func(), err error) {
	token, address := "", m.lead
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("--lead: %w", err))
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		if m.tokenFile == "" {
			return nil, nil, usage(fmt.Errorf("%s is not a loopback address: give all machines a --lead-token-file", address))
		}
		address = ":" + port // a pod's name may not resolve yet, and a host's own name may be 127.0.1.1
	}
	if m.tokenFile != "" {
		token, err = config.NewFileSecret(m.tokenFile).Fetch(ctx)
		if err != nil || token == "" {
			return nil, nil, fmt.Errorf("--lead-token-file %s: %w", m.tokenFile, cmp.Or(err, errors.New("it is empty")))
		}
	}
	lead = load.NewLead(m.Team)
	stop, err = serveAt(ctx, address, m.webConfig, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && subtle.ConstantTimeCompare([]byte("Bearer "+token), []byte(r.Header.Get("Authorization"))) != 1 {
			http.Error(w, "another --lead-token-file than the leader's", http.StatusUnauthorized)
			return
		}
		lead.ServeHTTP(w, r)
	}))
	return lead, stop, err
}

// join makes the run one of several machines, where that is asked for: its leader until stop, or one that is led by follow.
func (s *runFlags) join(ctx context.Context, cfg *load.Config) (follow putter, stop func(), err error) {
	m, stop := &s.team, func() {}
	switch {
	case m.lead == "" || m.Machines == 1 && m.Rank <= 0:
		return nil, stop, nil
	case m.Rank < 0 || m.Rank >= m.Machines:
		return nil, nil, usage(fmt.Errorf("--lead needs the number of --machines (%d) and a --rank (%d) from 0 to below that: give them, or start by a launcher that sets them", m.Machines, m.Rank))
	}
	if m.Identity, err = identity(s.Application, s.args, cfg.Dataset.Path); err != nil {
		return nil, nil, err
	}
	if m.Rank == 0 {
		cfg.Lead, stop, err = m.startLead(ctx)
		return nil, stop, err
	}
	c, err := loadHTTP("--lead-http-config", m.httpConfig)
	if err != nil {
		return nil, nil, err
	}
	if m.tokenFile != "" {
		c.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: m.tokenFile}
	}
	client, err := config.NewClientFromConfig(c, "lead", config.WithHTTP2Disabled()) // a lost packet would hold up the next message too
	if err != nil {
		return nil, nil, fmt.Errorf("--lead-http-config: %w", err)
	}
	follower := load.Follower{Team: m.Team, URL: "http://" + m.lead, Client: client, Clock: time.Now}
	if m.webConfig != "" {
		follower.URL = "https://" + m.lead
	}
	return follower.Run, stop, nil
}
