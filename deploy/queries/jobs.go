package queries

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Job is a scrape job of Prometheus' configuration.
type Job struct {
	Name   string
	Labels []string // that its target files give to targets
}

// Jobs reads the scrape jobs of a configuration, and their target files.
func Jobs(file string) ([]Job, error) {
	var config struct {
		ScrapeConfigs []struct {
			JobName string                     `yaml:"job_name"`
			FileSD  []struct{ Files []string } `yaml:"file_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := readYAML(file, &config); err != nil {
		return nil, fmt.Errorf("reading scrape jobs: %w", err)
	}
	var jobs []Job
	for _, s := range config.ScrapeConfigs {
		labels := map[string]string{}
		for _, sd := range s.FileSD {
			for _, pattern := range sd.Files {
				groups, err := fromFiles(filepath.Dir(file), pattern, "targets", readTargets)
				if err != nil {
					return nil, err
				}
				for _, group := range groups {
					maps.Copy(labels, group.Labels)
				}
			}
		}
		jobs = append(jobs, Job{s.JobName, slices.Sorted(maps.Keys(labels))})
	}
	return jobs, nil
}

// targetGroup is one of a target file.
type targetGroup struct{ Labels map[string]string }

func readTargets(file string) ([]targetGroup, error) {
	var groups []targetGroup
	err := readYAML(file, &groups)
	return groups, err
}

func readYAML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
