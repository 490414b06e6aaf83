package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
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
	numaMaps  bool
	processes bool
	detail    collector.Detail
	serials   bool
	interval  time.Duration
	inventory time.Duration
	timeout   time.Duration
	variables []string
	sysfs     string
	procfs    string

	containers   bool
	podLogs      string
	podResources string
	trustIDs     []string

	detailShare float64 // of the time

	probe       probe.Spec
	apiKeyFile  string
	configFile  string
	configCheck bool
	probeOnce   bool

	read probe.Files // reads what the configuration names
}

// vendorFlags are the flags of one vendor.
type vendorFlags struct {
	known          collector.Known
	enabled, asked bool
	command        string
	named          bool // the command was given, not defaulted
	expected       int
	network        string
	namedNetwork   bool
}

// parseFlags prints help to stdout where args ask for it.
func parseFlags(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{probe: probe.DefaultSpec()}
	app := s.commandLine()
	app.UsageWriter(stdout)
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
	app.Version(version.Print("accelerator_exporter"))
	app.HelpFlag.Short('h')
	app.VersionFlag.Short('v')
	s.web = kingpinflag.AddFlags(app, ":10068")
	app.Flag("web.telemetry-path", "Path under which to expose metrics.").Default("/metrics").StringVar(&s.telemetryPath)
	app.Flag("web.enable-lifecycle", "Enable reload by POST /-/reload.").BoolVar(&s.enableLifecycle)
	s.collectorFlags(app)
	s.probeFlags(app)
	app.Flag("log.level", "Only log messages with the given severity or above: debug, info, warn, error.").
		Default("info").EnumVar(&s.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Output format of log messages: logfmt or json.").
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
		app.Flag(name, fmt.Sprintf("Enable the %s collector. Default: enabled if %s is on the PATH.", k.Name, strings.Join(k.Tools, " or "))).
			IsSetByUser(&v.asked).BoolVar(&v.enabled)
		app.Flag(name+".command", "Name or path of the vendor's tool. Giving one enables the collector.").
			Default(k.Tools[0]).IsSetByUser(&v.named).StringVar(&v.command)
		app.Flag(name+".expected-devices", "Expected number of cards. 0: the highest number seen or announced.").
			Default("0").IntVar(&v.expected)
		if len(k.Network) > 0 {
			app.Flag(name+"."+strings.TrimSuffix(k.Network[0], "_tool")+"-command", "Name or path of the tool for the cards' network ports. Default: "+k.Network[0]+" if it is found.").
				IsSetByUser(&v.namedNetwork).StringVar(&v.network)
		}
	}
	app.Flag("collector.numa", "Enable the numa collector.").Default("true").BoolVar(&s.numa)
	app.Flag("collector.numa-maps", "Expose on which NUMA nodes the memory of each process on a card lies. Reading that from the kernel stops the process's memory management meanwhile.").
		BoolVar(&s.numaMaps)
	app.Flag("collector.processes", "Expose each process on a card: its memory, where it may run, and its container.").Default("true").BoolVar(&s.processes)
	app.Flag("collector.containers", "Expose which container and pod each process on a card runs in.").Default("true").BoolVar(&s.containers)
	app.Flag("collector.detail", "Details to ask for beyond the main tables: off, lean or full.").
		Default(string(collector.DetailLean)).EnumVar((*string)(&s.detail), string(collector.DetailOff), string(collector.DetailLean), string(collector.DetailFull))
	app.Flag("collector.detail-share", "Share of the time that a tool may be busy with details.").Default("0.2").Float64Var(&s.detailShare)
	app.Flag("collector.serials", "Expose the serial numbers of boards.").BoolVar(&s.serials)
	durationVar(app, "collector.interval", "Polling interval of the vendors' tools, independent of scrapes.", "10s", &s.interval)
	durationVar(app, "collector.inventory-interval", "Polling interval of slow-changing data such as topology.", "5m", &s.inventory)
	durationVar(app, "collector.timeout", "Timeout of one run of a vendor's tool.", "10s", &s.timeout)
	app.Flag("collector.environment", "Name of an environment variable to pass on to the vendors' tools, which get PATH, LD_LIBRARY_PATH, HOME and TMPDIR only. Repeatable.").
		PlaceHolder("NAME").StringsVar(&s.variables)
	app.Flag("kubernetes.pod-logs", "Folder of the kubelet's log folders, whose names tell the names of pods.").Default("/var/log/pods").StringVar(&s.podLogs)
	app.Flag("kubernetes.pod-resources", "Socket of the kubelet's PodResources API, to expose which container has which card. Default: none.").
		PlaceHolder("SOCKET").StringVar(&s.podResources)
	app.Flag("kubernetes.trust-device-ids", "Vendor whose device plugin's ids name cards, where neither volcano nor HAMi hands them out: ascend. Repeatable.").
		PlaceHolder("VENDOR").EnumsVar(&s.trustIDs, collector.TrustedIDs()...)
	app.Flag("path.sysfs", "sysfs mountpoint.").Default("/sys").StringVar(&s.sysfs)
	app.Flag("path.procfs", "procfs mountpoint. In a container without the host's PIDs: the host's, mounted read-only.").Default("/proc").StringVar(&s.procfs)
}

func (s *settings) probeFlags(app *kingpin.Application) {
	p := &s.probe
	app.Flag("probe.target", "URL of a model server to probe: its base, with or without /v1, or the whole URL of its API.").StringVar(&p.URL)
	app.Flag("probe.api", "API to probe: chat or completions. Default: from the URL, else chat.").
		EnumVar((*string)(&p.API), string(openai.Chat), string(openai.Completions))
	app.Flag("probe.model", "Model to request. Default: the first that the server lists.").StringVar(&p.Model)
	durationVar(app, "probe.interval", "Interval between probes.", probe.DefaultInterval.String(), (*time.Duration)(&p.Interval))
	durationVar(app, "probe.timeout", "Timeout of a probe.", probe.DefaultTimeout.String(), (*time.Duration)(&p.Timeout))
	durationVar(app, "probe.idle-timeout", "Timeout between two chunks, after the first text.", probe.DefaultIdleTimeout.String(), (*time.Duration)(&p.IdleTimeout))
	app.Flag("probe.max-tokens", "Maximum number of tokens to generate per probe.").Default(fmt.Sprint(probe.DefaultMaxTokens)).IntVar(&p.MaxTokens)
	app.Flag("probe.prompt", "Prompt to send. Default: a built-in one.").StringVar(&p.Prompt)
	app.Flag("probe.cache-friendly", "Send the same prompt each time, so that a prefix cache may answer.").BoolVar(&p.CacheFriendly)
	app.Flag("probe.api-key-file", "File with the API key, read again for each probe.").StringVar(&s.apiKeyFile)
	app.Flag("probe.once", "Send one request to each target, print the result and exit with 0 or 1.").BoolVar(&s.probeOnce)
	app.Flag("config.file", "Path of the probe configuration file (YAML).").StringVar(&s.configFile)
	app.Flag("config.check", "Check the configuration and the files that it names, and exit with 0 or 1.").BoolVar(&s.configCheck)
}

// durationVar adds a flag. Its error gives an example, which kingpin's own does not.
func durationVar(app *kingpin.Application, name, help, byDefault string, into *time.Duration) {
	commandline.Bind(app.Flag(name, help).Default(byDefault), commandline.Value{Read: func(text string) (err error) {
		if *into, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("invalid duration %q, must be such as 30s, 500ms or 2m", text)
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
	if s.detailShare <= 0 || s.detailShare > 1 {
		return errors.New("--collector.detail-share must be above 0 and at most 1")
	}
	for _, v := range s.vendors {
		if v.expected < 0 {
			return fmt.Errorf("--collector.%s.expected-devices must not be negative", v.known.Name)
		}
	}
	for _, name := range s.variables {
		if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name) {
			return errors.New("--collector.environment must be a name such as SITE_CONFIG, without a value: the value is that of the exporter's own environment")
		}
	}
	if err := s.checkKubernetes(); err != nil {
		return err
	}
	if s.probeOnce && s.probe.URL == "" && s.configFile == "" {
		return errors.New("--probe.once needs --probe.target or --config.file")
	}
	if !isTelemetryPath(s.telemetryPath) {
		return errors.New("--web.telemetry-path must be a path such as /metrics, of at most 256 characters, and not below /-/")
	}
	return nil
}

// checkKubernetes refuses what could never be connected to.
func (s *settings) checkKubernetes() error {
	const longest = 107 // of a socket's path on Linux, in bytes
	switch {
	case s.podResources == "" && len(s.trustIDs) > 0:
		return errors.New("--kubernetes.trust-device-ids needs --kubernetes.pod-resources")
	case s.podResources != "" && (!strings.HasPrefix(s.podResources, "/") || len(s.podResources) > longest):
		return fmt.Errorf("--kubernetes.pod-resources must be a path that begins with / and has at most %d bytes, such as /var/lib/kubelet/pod-resources/kubelet.sock", longest)
	}
	return nil
}

// loadTime bounds the reading of the configuration and of all the files it names, each
// of which may lie on a mount that hangs.
const loadTime = 20 * time.Second

// isTelemetryPath reports whether requests can have this path, and no other page has it.
func isTelemetryPath(p string) bool {
	const longest = 256
	return len(p) <= longest && regexp.MustCompile(`^(/[\w.~!$&'()*+,;=:@-]+)+/?$`).MatchString(p) &&
		path.Clean(p) == strings.TrimSuffix(p, "/") && !strings.HasPrefix(p, "/-/")
}

// configuration is what the probes' flags and the file tell.
type configuration struct {
	targets []probe.Target // that are good
	// unreadable are the files that are read later and cannot be read now.
	unreadable []error
}

// configuration reads the flags and the file; it is called again to reload. The error
// joins all that is wrong.
func (s *settings) configuration(ctx context.Context) (configuration, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	var c configuration
	var wrong []error
	if s.probe.URL != "" {
		spec := s.probe
		if s.apiKeyFile != "" {
			spec.HTTP.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: s.apiKeyFile}
		}
		t, err := spec.Validate(ctx, "", &s.read)
		if err != nil {
			wrong = append(wrong, flatten(withFlagNames(err))...)
		} else {
			c.targets = append(c.targets, t)
			c.unreadable = append(c.unreadable, flatten(withFlagNames(t.CheckFiles(ctx, &s.read)))...)
		}
	}
	if s.configFile != "" {
		file, err := probe.ReadFile(ctx, s.configFile, &s.read)
		wrong = append(wrong, flatten(err)...)
		wrong = append(wrong, flatten(s.checkWithFlags(c.targets, file))...)
		c.targets = append(c.targets, file.Targets...)
		c.unreadable = append(c.unreadable, flatten(file.Unreadable)...)
	}
	return c, errors.Join(wrong...)
}

// checkWithFlags returns what is wrong with a file in the light of the flags: vendors
// that are not known, and the name of a target of the flags.
func (s *settings) checkWithFlags(flags []probe.Target, file probe.File) error {
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

// withFlagNames is an error of a target of the flags, with the flags' names.
func withFlagNames(err error) error {
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

// flatten returns the errors that one joins.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, flatten(one)...)
	}
	return all
}

// checkWeb returns what is wrong with the web configuration and its certificates.
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
			network := v.network
			if !v.namedNetwork {
				network, _ = v.known.DetectNetwork()
			}
			enabled = append(enabled, collector.VendorOptions{Name: v.known.Name, Command: command, Network: network, ExpectedDevices: v.expected})
		}
	}
	return enabled
}
