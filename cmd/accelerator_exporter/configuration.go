package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/config"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

type configuration struct {
	targets []probe.Target // that are good
	// unreadable are the files that are read later and cannot be read now.
	unreadable []error
}

// configuration reads the flags and the file; it is called again to reload. The error
// is a line for each mistake.
func (s *settings) configuration() (configuration, error) {
	var c configuration
	var wrong []error
	if s.probe.URL != "" {
		spec := s.probe
		if s.apiKeyFile != "" {
			spec.HTTP.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: s.apiKeyFile}
		}
		t, mistakes := spec.Validate("")
		wrong = withFlagNames(mistakes)
		if len(wrong) == 0 {
			c.targets = append(c.targets, t)
			c.unreadable = withFlagNames(t.CheckFiles())
		}
	}
	if s.configFile != "" {
		file, err := probe.ReadFile(s.configFile)
		wrong = append(wrong, err, s.checkWithFlags(c.targets, file))
		c.targets = append(c.targets, file.Targets...)
		c.unreadable = append(c.unreadable, file.Unreadable...)
	}
	return c, errors.Join(wrong...)
}

// checkWithFlags returns what is wrong with a file in the light of the flags: vendors
// that are not known, and the name of a target of the flags.
func (s *settings) checkWithFlags(flags []probe.Target, file probe.File) error {
	var vendors []string
	for _, v := range s.vendors {
		vendors = append(vendors, v.Name)
	}
	var wrong []error
	for _, t := range file.Targets {
		if slices.ContainsFunc(flags, func(f probe.Target) bool { return f.Name == t.Name }) {
			wrong = append(wrong, file.At(t, fmt.Errorf("name: the probe of --probe.target is named %q too: give this one another name, or leave --probe.target out", t.Name)))
		}
		for _, vendor := range slices.Sorted(maps.Keys(t.Devices)) {
			if !slices.Contains(vendors, vendor) {
				wrong = append(wrong, file.At(t, fmt.Errorf("devices: no vendor is called %q, known: %s", vendor, strings.Join(vendors, ", "))))
			}
		}
	}
	return errors.Join(wrong...)
}

// withFlagNames are mistakes of the target of the flags, with the flags' names.
func withFlagNames(mistakes []error) []error {
	flags := map[string]string{"url": "target", "http": "api-key-file", "max_tokens": "max-tokens"}
	var renamed []error
	for _, err := range mistakes {
		field, text, _ := strings.Cut(err.Error(), ":")
		renamed = append(renamed, fmt.Errorf("--probe.%s:%s", cmp.Or(flags[field], field), text))
	}
	return renamed
}

// checkWeb returns what is wrong with the web configuration and its certificates.
func (s *settings) checkWeb() error {
	err := web.Validate(*s.web.WebConfigFile)
	if err == nil {
		return nil
	}
	// What stands in backquotes is a value of the file, and may be a secret.
	text := regexp.MustCompile("(?s)`.*`").ReplaceAllString(err.Error(), "…")
	return fmt.Errorf("--web.config.file %s: %s", *s.web.WebConfigFile, strings.Join(strings.Fields(text), " "))
}
