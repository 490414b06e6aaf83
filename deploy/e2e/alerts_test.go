//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// told is an alert as amtool shows it.
type told struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Status      struct {
		State string `json:"state"`
	} `json:"status"`
}

// ask asks Alertmanager by amtool, as a person would.
func (f *fleet) ask(t *testing.T, amtool string, a alert, h *host) ([]told, error) {
	t.Helper()
	args := []string{"--alertmanager.url=http://" + f.alertmanager, "alert", "query", "--output=json", "alertname=" + a.name, "instance=" + h.exporter}
	if a.inhibited {
		args = append(args, "--inhibited", "--active")
	}
	for name, value := range a.labels {
		args = append(args, name+"="+value)
	}
	out, err := output(t, amtool, args...)
	if err != nil {
		return nil, err
	}
	var all []told
	return all, json.Unmarshal([]byte(out), &all)
}

// inAlertmanager are the alerts of a name and their states, for the message of a
// failed test.
func (f *fleet) inAlertmanager(name string) []string {
	response, err := http.Get("http://" + f.alertmanager + "/api/v2/alerts?filter=alertname=" + name)
	if err != nil {
		return []string{err.Error()}
	}
	defer response.Body.Close()
	var all []told
	if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, a := range all {
		found = append(found, fmt.Sprintf("%s %v", a.Status.State, a.Labels))
	}
	return found
}

// fires waits until Prometheus, Alertmanager and whoever that tells know of an alert.
func (f *fleet) fires(t *testing.T, a alert, h *host, put time.Time) {
	amtool := programtest.Find(t, "amtool")
	wanted := map[string]string{"alertname": a.name, "instance": h.exporter, "severity": a.severity}
	maps.Copy(wanted, a.labels)
	programtest.Eventually(t, 90*time.Second, a.name+" fires", func() error {
		all := f.firing(t)
		if !slices.ContainsFunc(all, func(labels map[string]string) bool { return matches(labels, wanted) }) {
			return fmt.Errorf("no %v in Prometheus", wanted)
		}
		return nil
	})
	programtest.Eventually(t, patience, "amtool shows "+a.name, func() error {
		all, err := f.ask(t, amtool, a, h)
		if err != nil {
			return err
		}
		if len(all) != 1 {
			return fmt.Errorf("%d alerts, want 1; of that name there are %v", len(all), f.inAlertmanager(a.name))
		}
		if !matches(all[0].Labels, wanted) {
			return fmt.Errorf("labels %v, want %v", all[0].Labels, wanted)
		}
		if a.inhibited && all[0].Status.State != "suppressed" {
			return fmt.Errorf("it is %s, although another alert explains it", all[0].Status.State)
		}
		return readable(all[0].Annotations, a.name)
	})
	if _, err := os.Stat(filepath.Join("../../docs/runbooks", a.name+".md")); err != nil {
		t.Errorf("no runbook: %v", err)
	}
	f.somebodyIsTold(t, a, "firing", wanted)
	f.note(t, a, h, put, "min")
}

// readable checks what a person reads of an alert.
func readable(annotations map[string]string, name string) error {
	for _, key := range []string{"summary", "description", "runbook_url"} {
		text := annotations[key]
		if text == "" || strings.Contains(text, "<no value>") || strings.Contains(text, "<error") || strings.Contains(text, "{{") || strings.Contains(text, "%!") {
			return fmt.Errorf("%s: %q", key, text)
		}
	}
	if runbook := filepath.Base(annotations["runbook_url"]); runbook != name+".md" {
		return fmt.Errorf("the runbook of %s is %s", name, runbook)
	}
	return nil
}

// resolves waits until an alert is gone everywhere.
func (f *fleet) resolves(t *testing.T, a alert, h *host, cleared time.Time) {
	amtool := programtest.Find(t, "amtool")
	wanted := map[string]string{"alertname": a.name, "instance": h.exporter}
	maps.Copy(wanted, a.labels)
	programtest.Eventually(t, 2*time.Minute, a.name+" resolves", func() error {
		for _, labels := range f.firing(t) {
			if matches(labels, wanted) {
				return fmt.Errorf("still fires: %v", labels)
			}
		}
		return nil
	})
	programtest.Eventually(t, patience, a.name+" leaves Alertmanager", func() error {
		all, err := f.ask(t, amtool, a, h)
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("amtool still shows it: %v", all[0].Labels)
		}
		return err
	})
	f.somebodyIsTold(t, a, "resolved", wanted)
	f.note(t, a, h, cleared, "max")
}

// somebodyIsTold waits for the message that Alertmanager's routes promise.
func (f *fleet) somebodyIsTold(t *testing.T, a alert, status string, wanted map[string]string) {
	t.Helper()
	to := map[string]string{"critical": "page", "warning": "ticket"}[a.severity]
	if to == "" || a.inhibited {
		return
	}
	programtest.Eventually(t, patience, fmt.Sprintf("a message to %s that %s is %s", to, a.name, status), func() error {
		if !f.receiver.got(to, status, wanted) {
			return errors.New("none yet")
		}
		return nil
	})
}

// note keeps how long after an instant Prometheus first (min) or last (max) had
// an alert firing.
func (f *fleet) note(t *testing.T, a alert, h *host, instant time.Time, which string) {
	t.Helper()
	matchers := fmt.Sprintf("alertstate=%q,alertname=%q,instance=%q", "firing", a.name, h.exporter)
	for name, value := range a.labels {
		matchers += fmt.Sprintf(",%s=%q", name, value)
	}
	query := fmt.Sprintf("%s(%s_over_time(timestamp(ALERTS{%s})[10m:250ms]))", which, which, matchers)
	programtest.Eventually(t, patience, "ALERTS of "+a.name, func() error {
		all, err := f.instant(query)
		if err != nil {
			return err
		}
		if len(all) != 1 {
			return fmt.Errorf("%d series of %s", len(all), query)
		}
		f.times[times{h.name, a.name, fmt.Sprint(a.labels), which}] = all[0].number(t) - float64(instant.UnixMilli())/1000
		return nil
	})
}

// times is what was noted when.
type times struct{ host, alert, labels, which string }

// writeTimes leaves a table for a person to read.
func (f *fleet) writeTimes(t *testing.T, v version, faults []fault) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# From a fault to its alert and back, Prometheus %s\n\n", f.number(t))
	fmt.Fprintf(&b, "Seconds of a run in which time passes %d times faster in the rules: a second stands for a minute.\n\n", faster)
	b.WriteString("| fault | alert | labels | severity | fires after s | resolves after s |\n|---|---|---|---|---:|---:|\n")
	for _, x := range faults {
		for _, a := range x.tells {
			at := func(which string) string {
				seconds, ok := f.times[times{x.host, a.name, fmt.Sprint(a.labels), which}]
				if !ok {
					return "not tried"
				}
				return fmt.Sprintf("%.1f", seconds)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", x.name, a.name,
				strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(a.labels), "map["), "]"), a.severity, at("min"), at("max"))
		}
	}
	path := filepath.Join(reports(t), "alerts-"+v.name+".md")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("see %s", path)
}
