//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// pages shows what Alertmanager, with the shipped routes and inhibitions, sends where, when alerts come in the order that
// prometheus/tests/pages.yml holds the rules to.
func pages(t *testing.T) {
	var mutex sync.Mutex
	var sent []string
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct {
			Alerts []struct{ Labels map[string]string }
		}
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		for _, a := range message.Alerts {
			sent = append(sent, r.URL.Path+" "+a.Labels["instance"]+" "+a.Labels["alertname"])
		}
	}))
	defer webhook.Close()
	config := filepath.Join(t.TempDir(), "alertmanager.yml")
	text := regexp.MustCompile(`(?m)^    # (webhook_configs:|  )`).ReplaceAllString(programtest.Read(t, shipped+"/alertmanager.yml"), "    $1")
	text = strings.ReplaceAll(text, "http://127.0.0.1:9099", webhook.URL)
	programtest.Write(t, config, regexp.MustCompile(`group_wait: \w+`).ReplaceAllString(text, "group_wait: 1s"))
	address := served(t, programtest.Run(t, "alertmanager", nil, programtest.Find(t, "prometheus-alertmanager", "alertmanager"),
		"--config.file="+config, "--storage.path="+t.TempDir(), "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="))
	var want []string
	for _, a := range []struct{ receiver, host, name, severity, labels string }{
		{"ticket", "hangs", "AcceleratorCollectorFailing", "warning", `"collector":"nvidia"`},
		{"page", "lost", "AcceleratorCardsMissing", "critical", `"vendor":"nvidia"`},
		{"", "lost", "AcceleratorLinkBelowBest", "warning", `"vendor":"nvidia","device":"3","reading":"width"`},
		{"ticket", "lost", "AcceleratorCollectorFailing", "warning", `"collector":"nvidia"`},
		{"page", "broken", "AcceleratorCardUnhealthy", "critical", `"vendor":"metax","device":"2"`},
		{"", "broken", "AcceleratorCardHot", "warning", `"vendor":"metax","device":"2","sensor":"chip"`},
		{"ticket", "broken", "AcceleratorCardHot", "warning", `"vendor":"metax","device":"3","sensor":"chip"`},
		{"page", "dead", "AcceleratorExporterDown", "critical", `"job":"accelerator_exporter"`},
		{"", "dead", "AcceleratorCardUnhealthy", "critical", `"vendor":"metax","device":"1"`},
		{"page", "stands", "AcceleratorTargetStalled", "critical", `"target":"chat"`},
		{"", "stands", "AcceleratorProbeNoSuccess", "critical", `"target":"chat"`},
		{"page", "last", "AcceleratorExporterDown", "critical", `"job":"accelerator_exporter"`},
	} {
		body := fmt.Sprintf(`[{"labels":{"alertname":%q,"severity":%q,"instance":%q,%s}}]`, a.name, a.severity, a.host, a.labels)
		answer, err := http.Post("http://"+address+"/api/v2/alerts", "application/json", strings.NewReader(body))
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
		if a.receiver == "" {
			continue // another explains it
		}
		want = append(want, "/"+a.receiver+" "+a.host+" "+a.name)
		programtest.Eventually(t, patience, want[len(want)-1]+" comes, and nothing before it", func() error {
			mutex.Lock()
			defer mutex.Unlock()
			if !slices.Equal(sent, want) {
				return fmt.Errorf("sent %q", sent)
			}
			return nil
		})
	}
}
