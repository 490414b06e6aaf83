package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/kube"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

type settings struct {
	logLevel, logFormat string

	web             *web.FlagConfig
	telemetryPath   string
	enableLifecycle bool

	vendors   []vendorFlags
	collector collector.Options // without vendors and logger

	probe       probe.Spec
	apiKeyFile  string
	configFile  string
	configCheck bool
	checkWhat   string // "all", "cards" or "targets"; "" for no check
}

type vendorFlags struct {
	collector.VendorOptions
	enabled, isSet bool
	named          bool // the command was given, not defaulted
	namedNetwork   bool
}

// parseFlags prints help to stdout where args ask for it.
func parseFlags(args []string, stdout io.Writer) (*settings, error) {
	s := &settings{probe: probe.DefaultSpec()}
	app := s.commandLine()
	app.UsageWriter(stdout)
	args = slices.Clone(args)
	if i := slices.Index(args, "--check"); i >= 0 { // whose value can be left out
		args[i] = "--check=all"
	}
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return s, s.check()
}

// commandLine has every flag, and sets s from them.
func (s *settings) commandLine() *kingpin.Application {
	app := kingpin.New("accelerator_exporter",
		"Prometheus exporter for accelerators, NUMA nodes, and the streaming latency of the model server beside them.")
	app.Version(version.Print("accelerator_exporter"))
	app.HelpFlag.Short('h')
	app.VersionFlag.Short('v')
	s.web = kingpinflag.AddFlags(app, ":10068")
	app.Flag("web.telemetry-path", "Path under which to expose metrics.").Default("/metrics").StringVar(&s.telemetryPath)
	app.Flag("web.enable-lifecycle", "Enable reload by POST /-/reload.").BoolVar(&s.enableLifecycle)
	s.vendorFlags(app)
	s.collectorFlags(app)
	s.probeFlags(app)
	app.Flag("check", "Check the cards once and each target with one probe, print a line for each, the worst last, and exit with 0: all is well, 1: something is wrong, 2: not known. --check=cards and --check=targets check only those; --check=targets also prints all phases.").
		PlaceHolder("all").EnumVar(&s.checkWhat, "all", "cards", "targets")
	app.Flag("log.level", "Only log messages with the given severity or above: debug, info, warn, error.").
		Default("info").EnumVar(&s.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Output format of log messages: logfmt or json.").
		Default("logfmt").EnumVar(&s.logFormat, "logfmt", "json")
	return app
}

func (s *settings) vendorFlags(app *kingpin.Application) {
	known := collector.Vendors()
	s.vendors = make([]vendorFlags, len(known))
	for i, k := range known {
		v := &s.vendors[i]
		v.Vendor = k
		name := "collector." + k.Name
		app.Flag(name, fmt.Sprintf("Enable the %s collector. Default: enabled if %s is found.", k.Name, strings.Join(k.Tools, " or "))).
			IsSetByUser(&v.isSet).BoolVar(&v.enabled)
		app.Flag(name+".command", "Name or path of the vendor's tool. Giving one enables the collector.").
			Default(k.Tools[0]).IsSetByUser(&v.named).StringVar(&v.Command)
		app.Flag(name+".expected-devices", "Expected number of cards. 0: the highest number seen, or announced by the tool.").
			Default("0").IntVar(&v.ExpectedDevices)
		if len(k.NetworkTools) > 0 {
			usual := k.NetworkTools[0]
			app.Flag(name+"."+strings.TrimSuffix(usual, "_tool")+"-command", fmt.Sprintf("Name or path of the tool for the cards' network ports. Default: %s if it is found.", usual)).
				IsSetByUser(&v.namedNetwork).StringVar(&v.Network)
		}
	}
}

func (s *settings) collectorFlags(app *kingpin.Application) {
	o := &s.collector
	app.Flag("collector.numa", "Enable the numa collector.").Default("true").BoolVar(&o.NUMA)
	app.Flag("collector.numa-maps", "Expose on which NUMA nodes the memory of each process on a card is. Each read holds up the process's memory management.").
		BoolVar(&o.NUMAMaps)
	app.Flag("collector.processes", "Expose each process on a card: its memory, where it may run, and its container.").Default("true").BoolVar(&o.Processes)
	app.Flag("collector.containers", "Expose which container and pod each process on a card runs in.").Default("true").BoolVar(&o.Containers)
	app.Flag("collector.detail", "Details to ask for beyond the main tables: off, lean or full.").
		Default(string(collector.DetailLean)).EnumVar((*string)(&o.Detail), string(collector.DetailOff), string(collector.DetailLean), string(collector.DetailFull))
	app.Flag("collector.serials", "Expose the serial numbers of boards.").BoolVar(&o.Serials)
	app.Flag("collector.interval", "Polling interval of the vendors' tools, independent of scrapes.").Default("10s").DurationVar(&o.Interval)
	app.Flag("collector.inventory-interval", "Polling interval of slow-changing data such as topology.").Default("5m").DurationVar(&o.InventoryInterval)
	app.Flag("collector.timeout", "Timeout of one run of a vendor's tool.").Default("10s").DurationVar(&o.Timeout)
	app.Flag("collector.environment", "Name of an environment variable to pass on to the vendors' tools, beside PATH, LD_LIBRARY_PATH, HOME and TMPDIR. Repeatable.").
		PlaceHolder("NAME").StringsVar(&o.Variables)
	app.Flag("kubernetes.pod-logs", "Folder with the logs of pods; the names of its folders are names of pods.").Default("/var/log/pods").StringVar(&o.PodLogs)
	app.Flag("kubernetes.pod-resources", "Socket of the kubelet's PodResources API, to expose which container was given which card. Default: none.").
		PlaceHolder("SOCKET").StringVar(&o.PodResources)
	app.Flag("kubernetes.trust-device-ids", "Vendor whose device plugin's ids are numbers of cards: ascend, unless volcano or HAMi hands out its cards. Repeatable.").
		PlaceHolder("VENDOR").EnumsVar(&o.TrustDeviceIDs, kube.Ascend)
	app.Flag("path.sysfs", "sysfs mountpoint.").Default("/sys").StringVar(&o.Sysfs)
	app.Flag("path.procfs", "procfs mountpoint. In a container without the host's PIDs: the host's, mounted read-only.").Default("/proc").StringVar(&o.Procfs)
}

func (s *settings) probeFlags(app *kingpin.Application) {
	p := &s.probe
	app.Flag("probe.target", "URL of a model server to probe: its base, with or without /v1, or the whole URL of its API.").StringVar(&p.URL)
	app.Flag("probe.model", "Model to request. Default: the first that the server lists.").StringVar(&p.Model)
	app.Flag("probe.interval", "Interval between probes.").Default(p.Interval.String()).DurationVar((*time.Duration)(&p.Interval))
	app.Flag("probe.timeout", "Timeout of a probe.").Default(p.Timeout.String()).DurationVar((*time.Duration)(&p.Timeout))
	app.Flag("probe.max-tokens", "Maximum number of tokens to generate per probe.").Default(fmt.Sprint(p.MaxTokens)).IntVar(&p.MaxTokens)
	app.Flag("probe.api-key-file", "File with the API key, read again for each probe.").StringVar(&s.apiKeyFile)
	app.Flag("config.file", "Path of the probe configuration file (YAML): any number of targets, and all other settings of a probe.").StringVar(&s.configFile)
	app.Flag("config.check", "Check the configuration and the files that it names, and exit with 0 or 1.").BoolVar(&s.configCheck)
}

// telemetryPath matches the paths that the metrics may have. Each part holds a letter, a
// digit or an underscore, so that none is below /-/.
var telemetryPath = regexp.MustCompile(`^(/[.~-]*\w[\w.~-]*)+$`)

func (s *settings) check() error {
	o := &s.collector
	switch {
	case min(o.Interval, o.InventoryInterval, o.Timeout) < time.Millisecond:
		return errors.New("--collector.interval, --collector.inventory-interval and --collector.timeout must be at least 1ms")
	case slices.ContainsFunc(s.vendors, func(v vendorFlags) bool { return v.ExpectedDevices < 0 }):
		return errors.New("--collector.VENDOR.expected-devices must not be negative")
	case slices.ContainsFunc(o.Variables, func(name string) bool { return strings.Contains(name, "=") }):
		return errors.New("--collector.environment must be a name, without a value: the value is that of the exporter's own environment")
	case o.PodResources == "" && len(o.TrustDeviceIDs) > 0:
		return errors.New("--kubernetes.trust-device-ids needs --kubernetes.pod-resources")
	case s.checkWhat == "targets" && s.probe.URL == "" && s.configFile == "":
		return errors.New("--check=targets needs --probe.target or --config.file")
	case !telemetryPath.MatchString(s.telemetryPath):
		return errors.New("--web.telemetry-path must be a path such as /metrics, and not below /-/")
	}
	return nil
}

// enabledVendors are those asked for, and those whose tool is there and that
// were not declined.
func (s *settings) enabledVendors() []collector.VendorOptions {
	var enabled []collector.VendorOptions
	for _, v := range s.vendors {
		tool := process.FirstFound(v.Tools)
		if v.isSet && !v.enabled || !v.isSet && !v.named && tool == "" {
			continue
		}
		options := v.VendorOptions
		if tool != "" && !v.named {
			options.Command = tool
		}
		if !v.namedNetwork {
			options.Network = process.FirstFound(v.NetworkTools)
		}
		enabled = append(enabled, options)
	}
	return enabled
}
