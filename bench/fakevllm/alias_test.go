package fakevllm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAliases: every served name is answered to, and metrics and answers have the first.
func TestAliases(t *testing.T) {
	cfg := quick()
	cfg.Model, cfg.Aliases = "Qwen/Qwen2.5-72B", []string{"qwen", "chat"}
	_, hs := serve(t, cfg)

	var list struct{ Data []struct{ ID, Root string } }
	if err := json.Unmarshal([]byte(get(t, hs.URL+"/v1/models")), &list); err != nil {
		t.Fatal(err)
	}
	type card = struct{ ID, Root string }
	want := []card{{cfg.Model, cfg.Model}, {"qwen", cfg.Model}, {"chat", cfg.Model}}
	if diff := cmp.Diff(want, list.Data); diff != "" {
		t.Errorf("/v1/models (-want +got):\n%s", diff)
	}
	for name, status := range map[string]int{cfg.Model: 200, "qwen": 200, "chat": 200, "qwen2.5": 404} {
		resp, body := post(t, hs.URL+"/v1/completions", `{"prompt":"a","max_tokens":1,"model":"`+name+`"}`)
		var answer struct{ Model string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || status == 200 && answer.Model != cfg.Model {
			t.Errorf("model %s: HTTP %d, answered as %q", name, resp.StatusCode, answer.Model)
		}
	}
	metrics := get(t, hs.URL+"/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "vllm:") && !strings.Contains(line, `model_name="Qwen/Qwen2.5-72B"`) {
			t.Errorf("not under the first name: %s", line)
		}
	}
	if !strings.Contains(metrics, `vllm:request_success_total{engine="0",finished_reason="length",model_name="Qwen/Qwen2.5-72B"} 3`+"\n") {
		t.Error("the three requests are not counted under the first name")
	}
	if _, err := New(Config{Aliases: []string{""}}); err == nil {
		t.Error("an empty alias is accepted")
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
