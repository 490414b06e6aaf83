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
			JobName string `yaml:"job_name"`
			FileSD  []struct {
				Files []string `yaml:"files"`
			} `yaml:"file_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := readYAML(file, &config); err != nil {
		return nil, fmt.Errorf("reading scrape jobs: %w", err)
	}
	var jobs []Job
	for _, s := range config.ScrapeConfigs {
		labels := map[string]bool{}
		for _, sd := range s.FileSD {
			for _, pattern := range sd.Files {
				if err := addTargetLabels(labels, filepath.Join(filepath.Dir(file), pattern)); err != nil {
					return nil, fmt.Errorf("reading targets of job %s: %w", s.JobName, err)
				}
			}
		}
		jobs = append(jobs, Job{Name: s.JobName, Labels: slices.Sorted(maps.Keys(labels))})
	}
	return jobs, nil
}

func addTargetLabels(labels map[string]bool, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		var groups []struct {
			Labels map[string]string `yaml:"labels"`
		}
		if err := readYAML(file, &groups); err != nil {
			return err
		}
		for _, g := range groups {
			for label := range g.Labels {
				labels[label] = true
			}
		}
	}
	return nil
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
