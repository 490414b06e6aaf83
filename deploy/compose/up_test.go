package compose

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestUp runs the services that there are programs for, with the command lines,
// mounts and users of compose.yml: all but Grafana.
func TestUp(t *testing.T) {
	e := newEngine(t, mustLoad(t, "stand-ins", "fault"))
	for _, name := range []string{"vllm", "exporter", "alertmanager", "prometheus"} {
		e.up(t, name)
	}
	t.Run("healthy", func(t *testing.T) {
		for name, s := range e.project.Services {
			if s.HealthCheck != nil {
				programtest.Eventually(t, patience, name+" is healthy", func() error { return e.run(t, name, s.HealthCheck.Test[1:]) })
			}
		}
	})
	t.Run("targets", e.testTargets)
	t.Run("rules", e.testRules)
	t.Run("series", e.testSeries)
	t.Run("fault", e.testFault)
	t.Run("with cards", e.testCards)
}

const prometheus = "http://127.0.0.1:9090"

// testTargets wants every service scraped, and alerts sent.
func (e *engine) testTargets(t *testing.T) {
	programtest.Eventually(t, patience, "every service is up", func() error {
		var targets struct {
			Data struct {
				ActiveTargets []struct {
					Health, LastError string
					Labels            map[string]string
				}
			}
		}
		if err := e.decode(t, prometheus+"/api/v1/targets", &targets); err != nil {
			return err
		}
		var up []string
		for _, a := range targets.Data.ActiveTargets {
			if a.Health == "up" {
				up = append(up, a.Labels["job"]+" "+a.Labels["instance"])
			}
		}
		slices.Sort(up)
		if want := []string{"accelerator_exporter exporter:10068", "vllm vllm:8000"}; !slices.Equal(up, want) {
			return fmt.Errorf("up: %q, want %q; %v", up, want, targets.Data.ActiveTargets)
		}
		return nil
	})
	programtest.Eventually(t, patience, "Prometheus knows Alertmanager", func() error {
		body, err := e.get(t.Context(), prometheus+"/api/v1/alertmanagers")
		if err == nil && !strings.Contains(body, "http://alertmanager:9093/api/v2/alerts") {
			err = fmt.Errorf("no Alertmanager: %s", body)
		}
		return err
	})
}

// testRules wants the rules loaded, and none that fails; some are evaluated rarely.
func (e *engine) testRules(t *testing.T) {
	programtest.Eventually(t, patience, "the rules work", func() error {
		var rules struct {
			Data struct {
				Groups []struct {
					Name  string
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := e.decode(t, prometheus+"/api/v1/rules", &rules); err != nil {
			return err
		}
		if len(rules.Data.Groups) < 3 {
			return fmt.Errorf("%d groups of rules", len(rules.Data.Groups))
		}
		for _, g := range rules.Data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					return fmt.Errorf("%s, %s: %s %s", g.Name, r.Name, r.Health, r.LastError)
				}
			}
		}
		return nil
	})
}

// testSeries wants what joins cards, probe and server.
func (e *engine) testSeries(t *testing.T) {
	for query, want := range map[string]string{
		`count(accelerator_healthy) by (vendor)`:                                                                `"vendor":"metax"`,
		`accelerator_probe_target_device_info{target="qwen2.5"}`:                                                `"device":"3"`,
		`accelerator_probe_success{target="qwen2.5"} == 1`:                                                      `"job":"accelerator_exporter"`,
		`vllm:num_requests_running{job="vllm",target="qwen2.5"}`:                                                `"cluster":"demo"`,
		`max(accelerator_utilization_ratio{vendor="metax",device=~"[0-3]"}) > 0`:                                `"value"`,
		`histogram_quantile(0.5, sum by (le) (accelerator_probe_time_to_first_token_seconds_bucket)) > 0`:       `"value"`,
		`histogram_quantile(0.5, sum(accelerator_probe_time_to_first_token_seconds{target="qwen2.5"})) > 0`:     `"value"`,
		`accelerator_collector_success{collector="ascend"} == 1 and on () accelerator_devices{vendor="ascend"}`: `"value"`,
	} {
		programtest.Eventually(t, patience, query, func() error {
			body, err := e.get(t.Context(), prometheus+"/api/v1/query?query="+url.QueryEscape(query))
			if err == nil && !strings.Contains(body, want) {
				err = fmt.Errorf("%s: %s, want %s", query, body, want)
			}
			return err
		})
	}
}

// testFault puts a fault in with the line of README.md, and takes it out again.
func (e *engine) testFault(t *testing.T) {
	readme := programtest.Read(t, "README.md")
	fault := e.project.Services["fault"]
	for _, step := range []struct{ line, file, text, series string }{
		{`run --rm fault mx-smi.card "2 unhealthy"`, "mx-smi.card", "2 unhealthy", `accelerator_healthy{device="2",vendor="metax"} 0`},
		{`run --rm fault mx-smi.card ""`, "mx-smi.card", "", `accelerator_healthy{device="2",vendor="metax"} 1`},
	} {
		if !strings.Contains(readme, step.line) {
			t.Errorf("README.md has no %q", step.line)
		}
		// docker compose makes one dollar of two when it hands the entry point on.
		entry := slices.Clone([]string(fault.Entrypoint))
		for n := range entry {
			entry[n] = strings.ReplaceAll(entry[n], "$$", "$")
		}
		if err := e.run(t, "fault", append(entry, step.file, step.text)); err != nil {
			t.Fatal(err)
		}
		programtest.Eventually(t, patience, step.line, func() error {
			body, err := e.get(t.Context(), "http://127.0.0.1:10068/metrics")
			if err == nil && !strings.Contains(body, step.series) {
				err = fmt.Errorf("after %s no %s", step.line, step.series)
			}
			return err
		})
	}
}

// testCards wants the command lines of the overrides understood.
func (e *engine) testCards(t *testing.T) {
	for _, vendor := range []string{"metax", "ascend"} {
		line := slices.Concat([]string{"/usr/local/bin/accelerator_exporter", "--config.check"}, mustLoad(t, vendor).Services["exporter"].Command)
		if err := e.run(t, "exporter", line); err != nil {
			t.Error(err)
		}
	}
}
