package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/internal/commandline"
)

// settings are the flags as given.
type settings struct {
	logLevel, logFormat string

	web             *web.FlagConfig
	telemetryPath   string
	enableLifecycle bool

	vendors   []vendorFlags
	numa      bool
	processes bool
	interval  time.Duration
	inventory time.Duration
	timeout   time.Duration
	sysfs     string
	procfs    string

	probe       probe.Spec
	apiKeyFile  string
	configFile  string
	configCheck bool
	probeOnce   bool
}

// vendorFlags are the flags of one vendor.
type vendorFlags struct {
	known          collector.Known
	enabled, asked bool
	command        string
	named          bool // the command was given, not defaulted
	expected       int
}

func parseFlags(args []string) (*settings, error) {
	s := &settings{probe: probe.DefaultSpec()}
	app := s.commandLine()
	if _, err := commandline.Parse(app, args); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, commandline.UsageError{Err: err}
	}
	return s, nil
}

// commandLine has every flag, and sets s from them.
func (s *settings) commandLine() *kingpin.Application {
	app := kingpin.New("accelerator_exporter",
		"Prometheus exporter for MetaX and Ascend accelerators, NUMA nodes, and the streaming latency of the model server beside them.")
	app.UsageWriter(os.Stdout)
	app.Version(version.Print("accelerator_exporter"))
	app.HelpFlag.Short('h')
	app.VersionFlag.Short('v')
	s.web = kingpinflag.AddFlags(app, ":10068")
	app.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&s.telemetryPath)
	app.Flag("web.enable-lifecycle", "Serve POST /-/reload.").BoolVar(&s.enableLifecycle)
	s.collectorFlags(app)
	s.probeFlags(app)
	app.Flag("log.level", "Only log messages of this severity or above: debug, info, warn, error.").
		Default("info").EnumVar(&s.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log: logfmt or json.").
		Default("logfmt").EnumVar(&s.logFormat, "logfmt", "json")
	return app
}

func (s *settings) collectorFlags(app *kingpin.Application) {
	known := collector.Vendors()
	s.vendors = make([]vendorFlags, len(known))
	for i, k := range known {
		v := &s.vendors[i]
		v.known = k
		name := "collector." + k.Name
		app.Flag(name, fmt.Sprintf("Collect from %s. Default: if it is on the PATH.", k.Tools[0])).
			IsSetByUser(&v.asked).BoolVar(&v.enabled)
		app.Flag(name+".command", "Name or path of the vendor's tool.").
			Default(k.Tools[0]).IsSetByUser(&v.named).StringVar(&v.command)
		app.Flag(name+".expected-devices", "Cards there ought to be. Default: the most ever seen or announced.").
			Default("0").IntVar(&v.expected)
	}
	app.Flag("collector.numa", "Collect the NUMA nodes.").Default("true").BoolVar(&s.numa)
	app.Flag("collector.processes", "Collect the memory of each process on a card.").Default("true").BoolVar(&s.processes)
	lengthOfTime(app, "collector.interval", "How often the tools are run, independent of scrapes.", "10s", &s.interval)
	lengthOfTime(app, "collector.inventory-interval", "How often the topology and the lists of cards are read.", "5m", &s.inventory)
	lengthOfTime(app, "collector.timeout", "Longest run of a tool.", "10s", &s.timeout)
	app.Flag("path.sysfs", "Mount point of sysfs.").Default("/sys").StringVar(&s.sysfs)
	app.Flag("path.procfs", "Mount point of procfs.").Default("/proc").StringVar(&s.procfs)
}

func (s *settings) probeFlags(app *kingpin.Application) {
	p := &s.probe
	app.Flag("probe.target", "URL of a model server to probe: its base, with or without /v1, or the whole URL of its API.").StringVar(&p.URL)
	app.Flag("probe.api", "API to probe: chat or completions. Default: what the URL tells, else chat.").
		EnumVar((*string)(&p.API), string(openai.Chat), string(openai.Completions))
	app.Flag("probe.model", "Model to ask for. Default: the first that the server lists.").StringVar(&p.Model)
	lengthOfTime(app, "probe.interval", "How often a probe is due.", probe.DefaultInterval.String(), (*time.Duration)(&p.Interval))
	lengthOfTime(app, "probe.timeout", "Longest duration of a probe.", probe.DefaultTimeout.String(), (*time.Duration)(&p.Timeout))
	lengthOfTime(app, "probe.idle-timeout", "Longest silence after the first text.", probe.DefaultIdleTimeout.String(), (*time.Duration)(&p.IdleTimeout))
	app.Flag("probe.max-tokens", "Tokens a probe asks for.").Default(fmt.Sprint(probe.DefaultMaxTokens)).IntVar(&p.MaxTokens)
	app.Flag("probe.prompt", "Prompt of a probe.").StringVar(&p.Prompt)
	app.Flag("probe.cache-friendly", "Keep the prompt the same, so that a prefix cache may answer.").BoolVar(&p.CacheFriendly)
	app.Flag("probe.api-key-file", "File with the API key, read again for each probe.").StringVar(&s.apiKeyFile)
	app.Flag("probe.once", "Send one request to each target, print what it cost, and exit with 0 or 1.").BoolVar(&s.probeOnce)
	app.Flag("config.file", "YAML file with probes.").StringVar(&s.configFile)
	app.Flag("config.check", "Check --config.file, and that the files it names can be read, and exit with 0 or 1.").BoolVar(&s.configCheck)
}

// lengthOfTime adds a flag. Its error says how a value is written, which kingpin's own
// does not.
func lengthOfTime(app *kingpin.Application, name, help, byDefault string, into *time.Duration) {
	commandline.Bind(app.Flag(name, help).Default(byDefault), commandline.Value{Read: func(text string) (err error) {
		if *into, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is no length of time, such as 30s, 500ms or 2m", text)
		}
		return nil
	}})
}

func (s *settings) check() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"collector.interval", s.interval},
		{"collector.inventory-interval", s.inventory},
		{"collector.timeout", s.timeout},
	} {
		if f.value < time.Millisecond {
			return fmt.Errorf("--%s must be at least 1ms", f.name)
		}
	}
	for _, v := range s.vendors {
		if v.expected < 0 {
			return fmt.Errorf("--collector.%s.expected-devices must not be negative", v.known.Name)
		}
	}
	if s.probeOnce && s.probe.URL == "" && s.configFile == "" {
		return errors.New("--probe.once needs --probe.target or --config.file")
	}
	if p := s.telemetryPath; len(p) < 2 || p[0] != '/' || strings.HasPrefix(p, "/-/") || strings.ContainsAny(p, "{} \t") {
		return errors.New("--web.telemetry-path must be a path such as /metrics, and not below /-/")
	}
	return nil
}

// configuration is what the probes' flags and the file tell.
type configuration struct {
	targets []probe.Target // that are good
	// unreadable are the files that are read later and cannot be read now.
	unreadable []error
}

// configuration reads the flags and the file; it is called again to reload. The error
// joins all that is wrong.
func (s *settings) configuration() (configuration, error) {
	var c configuration
	var wrong []error
	if s.probe.URL != "" {
		spec := s.probe
		if s.apiKeyFile != "" {
			spec.HTTP.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: s.apiKeyFile}
		}
		t, err := spec.Validate("")
		if err != nil {
			wrong = append(wrong, each(named(err))...)
		} else {
			c.targets = append(c.targets, t)
			c.unreadable = append(c.unreadable, each(named(t.CheckFiles()))...)
		}
	}
	if s.configFile != "" {
		file, err := probe.ReadFile(s.configFile)
		wrong = append(wrong, each(err)...)
		wrong = append(wrong, each(s.checkBeside(c.targets, file))...)
		c.targets = append(c.targets, file.Targets...)
		c.unreadable = append(c.unreadable, each(file.Unreadable)...)
	}
	return c, errors.Join(wrong...)
}

// checkBeside tells what is wrong with a file in the light of the flags: vendors that
// are not known, and the name of a target of the flags.
func (s *settings) checkBeside(flags []probe.Target, file probe.File) error {
	var vendors []string
	for _, v := range s.vendors {
		vendors = append(vendors, v.known.Name)
	}
	var wrong []error
	for _, t := range file.Targets {
		if slices.ContainsFunc(flags, func(f probe.Target) bool { return f.Name() == t.Name() }) {
			wrong = append(wrong, file.Mistake(t, "name", fmt.Sprintf("the probe of --probe.target is named %q too: give this one another name, or leave --probe.target out", t.Name())))
		}
		for _, vendor := range slices.Sorted(maps.Keys(t.Devices())) {
			if !slices.Contains(vendors, vendor) {
				wrong = append(wrong, file.Mistake(t, "devices", fmt.Sprintf("no vendor is called %q, known: %s", vendor, strings.Join(vendors, ", "))))
			}
		}
	}
	return errors.Join(wrong...)
}

// named is an error of a target of the flags, with the flags' names.
func named(err error) error {
	var mistakes probe.Mistakes
	if !errors.As(err, &mistakes) {
		return err
	}
	renamed := slices.Clone(mistakes)
	for i := range renamed {
		switch field := &renamed[i].Field; *field {
		case "url", "name": // the name is the URL's host
			*field = "--probe.target"
		case "http.authorization.credentials_file":
			*field = "--probe.api-key-file"
		default:
			*field = "--probe." + strings.ReplaceAll(*field, "_", "-")
		}
	}
	return renamed
}

// each are the errors that one joins.
func each(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, each(one)...)
	}
	return all
}

// checkWeb tells what is wrong with the web configuration and its certificates.
func (s *settings) checkWeb() error {
	if err := s.checkWebConfigKind(); err != nil {
		return err
	}
	err := web.Validate(*s.web.WebConfigFile)
	if err == nil {
		return nil
	}
	// What stands in backquotes is a value of the file, and may be a secret.
	text := regexp.MustCompile("(?s)`.*`").ReplaceAllString(err.Error(), "…")
	return fmt.Errorf("--web.config.file %s: %s", *s.web.WebConfigFile, strings.Join(strings.Fields(text), " "))
}

// checkWebConfigKind refuses what would be waited for without end, such as a pipe.
func (s *settings) checkWebConfigKind() error {
	info, err := os.Stat(*s.web.WebConfigFile)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--web.config.file: %s is not a regular file", *s.web.WebConfigFile)
	}
	return nil // one that is not there is told when it is read
}

// enabledVendors are those asked for, and those whose tool is there and that
// were not declined.
func (s *settings) enabledVendors() []collector.VendorOptions {
	var enabled []collector.VendorOptions
	for _, v := range s.vendors {
		command := v.command
		found, there := v.known.Detect()
		if !v.named && there {
			command = found
		}
		wanted := v.enabled
		if !v.asked {
			wanted = v.named || there
		}
		if wanted {
			enabled = append(enabled, collector.VendorOptions{Name: v.known.Name, Command: command, ExpectedDevices: v.expected})
		}
	}
	return enabled
}
