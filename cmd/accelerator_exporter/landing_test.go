package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// landingAs is the page for a client with an Accept header.
func landingAs(t *testing.T, p *program, accept string) (body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), response.Header
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// What a person looks for is on the page, in a browser and in a terminal.
func TestLandingPage(t *testing.T) {
	p := start(t, everything(t)...)
	waitFor(t, "the page shows the cards and both probes", func() bool {
		text, _ := landingAs(t, p, "*/*")
		return strings.Contains(text, "metax: 3 of 5") && strings.Contains(text, "missing: 3") &&
			strings.Contains(text, "ascend: 4 of 4") && strings.Contains(text, "chat-c: success") && strings.Contains(text, "standby: connect")
	})
	text, header := landingAs(t, p, "*/*")
	if got := header.Get("Content-Type"); got != "text/plain; charset=utf-8" || header.Get("Vary") != "Accept" {
		t.Errorf("for curl: %s, Vary %q", got, header.Get("Vary"))
	}
	for _, want := range []string{
		"metax: 3 of 5 cards, 3 healthy; missing: 3 (Not Available: Layout Node Not", "ascend: 4 of 4 cards, 3 healthy",
		"Alarm", " W ", " GiB", " °C", "TTFT ", "chat-c: success\n", "standby: connect: no connection, or closed before an answer\n",
		"hint: does a server listen at 127.0.0.1:9?", "numa: works",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	html, header := landingAs(t, p, browser)
	if got := header.Get("Content-Type"); got != "text/html; charset=utf-8" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("for a browser: %s, %s", got, header)
	}
	for _, want := range []string{
		"missing: 3 (Not Available: Layout Node Not Found), 4", `<td class="bad">Alarm</td>`, "TTFT <b>", `href="/metrics"`,
		"connect: no connection, or closed before an answer",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in\n%s", want, html)
		}
	}
	if strings.Contains(html, "<script") {
		t.Error("the page has a script")
	}
}

// Who is in the summary of a vendor's cards.
func TestCardsSummary(t *testing.T) {
	ok, broken := &model.Health{OK: true, State: "Available"}, &model.Health{State: "Not Available", Reason: "gone"}
	cards := func(health ...*model.Health) []model.Device {
		var all []model.Device
		for i, h := range health {
			all = append(all, model.Device{ID: fmt.Sprint(i), Health: h})
		}
		return all
	}
	for want, c := range map[string]collector.Cards{
		"nothing known yet":             {},
		"nothing known now; 8 expected": {Expected: 8},
		"2 of 2 cards, 2 healthy":       {Known: true, Snapshot: model.Snapshot{Devices: cards(ok, ok), Seen: 2}, Expected: 2},
		"2 of 2 cards":                  {Known: true, Snapshot: model.Snapshot{Devices: cards(nil, nil), Seen: 2}},
		"2 of 2 cards, 1 healthy":       {Known: true, Snapshot: model.Snapshot{Devices: cards(ok, nil), Seen: 2}, Expected: 2}, // nothing is said of the other
		"2 of 3 cards, 1 healthy":       {Known: true, Snapshot: model.Snapshot{Devices: cards(ok, broken), Seen: 2}, Expected: 3},
		"1 of 2 cards, 1 healthy; missing: 1 (Not Available: gone)": {Known: true, Snapshot: model.Snapshot{Devices: cards(ok, broken), Missing: cards(ok, broken)[1:], Seen: 1}, Expected: 2},
		"1 of 4 cards, 1 healthy; missing: 5, 6":                    {Known: true, Snapshot: model.Snapshot{Devices: cards(ok), Missing: []model.Device{{ID: "5"}, {ID: "6", Health: ok}}, Seen: 1}, Expected: 4},
	} {
		got, bad := cardsSummary(c)
		if got != want || bad != !strings.HasPrefix(want, "2 of 2") {
			t.Errorf("%q (bad: %v), want %q", got, bad, want)
		}
	}
}

// The page says when a collector's values are old, and what to do about its failure.
func TestLandingPageOfAHungTool(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cards := func(age time.Duration) landing {
		return landing{
			Vendors:    []vendorView{newVendorView(collector.Cards{Vendor: "metax", Known: true, Snapshot: model.Snapshot{Seen: 8}, Taken: now.Add(-age), Expected: 8}, now, 10*time.Second)},
			Collectors: []collectorView{newCollectorView(collector.Status{Collector: "metax", Polled: true, LastReason: "timeout", LastError: "no answer", Hint: "a sick card?"})},
		}
	}
	for age, want := range map[time.Duration]bool{20 * time.Second: false, 25 * time.Second: true} {
		var text, html bytes.Buffer
		if err := landingText.Execute(&text, cards(age)); err != nil {
			t.Fatal(err)
		}
		if err := landingHTML.Execute(&html, cards(age)); err != nil {
			t.Fatal(err)
		}
		const stale, advice = "last read at 2026-03-02 11:59:35, 25s ago", "a sick card?"
		for _, shown := range []string{text.String(), html.String()} {
			if strings.Contains(shown, stale) != want || !strings.Contains(shown, advice) {
				t.Errorf("after %s: stale %v wanted, and the hint:\n%s", age, want, shown)
			}
		}
	}
	if got := newVendorView(collector.Cards{}, now, time.Second).Stale; got != "" {
		t.Errorf("never read: %q", got)
	}
}

// What tools and servers print is shown as text.
func TestLandingPageEscapes(t *testing.T) {
	const evil = "<script>alert(1)</script>"
	page := landing{
		Vendors:    []vendorView{newVendorView(collector.Cards{Known: true, Snapshot: model.Snapshot{Devices: []model.Device{{ID: evil, Name: evil, Health: &model.Health{State: evil}}}}}, time.Now(), time.Second)},
		Collectors: []collectorView{newCollectorView(collector.Status{LastError: evil, LeftOut: model.Warnings{Texts: []string{evil}, Count: 3}})},
		Probes:     []probeView{newProbeView(probe.Status{Target: probe.Target{Spec: probe.Spec{Name: evil}}, Model: evil, Last: probe.Outcome{At: time.Now(), Failure: &openai.Failure{Detail: evil}}})},
	}
	var html strings.Builder
	if err := landingHTML.Execute(&html, page); err != nil {
		t.Fatal(err)
	}
	if text := html.String(); strings.Contains(text, "<script") || strings.Count(text, "&lt;script") != 8 || !strings.Contains(text, "and 2 more") {
		t.Errorf("page:\n%s", text)
	}
}

// A probe that cannot be sent says so on the page, with the file, and accuses nobody.
func TestLandingPageOfWhatIsNotSent(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--probe.target="+server(t), "--probe.model=m", "--probe.interval=100ms", "--probe.api-key-file=/nonexistent/key")
	waitFor(t, "the page says that nothing was sent", func() bool {
		text, _ := landingAs(t, p, "*/*")
		return strings.Contains(text, ": not sent\n") && strings.Contains(text, "/nonexistent/key")
	})
	_, metrics := p.get(t, "/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "accelerator_probe_failures_total{") && !strings.HasSuffix(line, " 0\n") {
			t.Errorf("a failure is counted: %s", line)
		}
	}
	if !strings.Contains(p.log.String(), "cannot read a file of a probe") {
		t.Errorf("no warning at the start:\n%s", p.log)
	}
}
