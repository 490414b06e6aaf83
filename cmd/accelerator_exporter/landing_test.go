package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

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
		"Alarm", " W ", " GiB", " °C", "TTFT ", "1 x success", "1 x no connection, or closed before an answer (connect)",
		"hint: does a server listen at 127.0.0.1:9?", "numa: works",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > textWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	html, header := landingAs(t, p, browser)
	if got := header.Get("Content-Type"); got != "text/html; charset=utf-8" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("for a browser: %s, %s", got, header)
	}
	for _, want := range []string{
		"missing: 3 (Not Available: Layout Node Not Found), 4", `<td class="bad">Alarm</td>`, "TTFT <b>", "✕", "●", `href="/metrics"`,
		"no connection, or closed before an answer (connect)",
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
		"2 of 2 cards, 2 healthy":       {Known: true, Devices: cards(ok, ok), Seen: 2, Expected: 2},
		"2 of 2 cards":                  {Known: true, Devices: cards(nil, nil), Seen: 2},
		"2 of 3 cards, 1 healthy":       {Known: true, Devices: cards(ok, broken), Seen: 2, Expected: 3},
		"1 of 2 cards, 1 healthy; missing: 1 (Not Available: gone)": {Known: true, Devices: cards(ok, broken), Missing: cards(ok, broken)[1:], Seen: 1, Expected: 2},
		"1 of 4 cards, 1 healthy; missing: 5, 6":                    {Known: true, Devices: cards(ok), Seen: 1, Expected: 4, Missing: []model.Device{{ID: "5"}, {ID: "6", Health: ok}}},
	} {
		got, bad := cardsSummary(c)
		if got != want || bad != !strings.HasPrefix(want, "2 of 2") {
			t.Errorf("%q (bad: %v), want %q", got, bad, want)
		}
	}
}

// Who does not see all missing cards is told how many there are.
func TestMissingCardsAreCounted(t *testing.T) {
	c := collector.Cards{Known: true, Expected: 70}
	for i := range 70 {
		c.Missing = append(c.Missing, model.Device{ID: fmt.Sprint(i)})
	}
	if text, _ := cardsSummary(c); !strings.HasSuffix(text, ", 63, and 6 more") {
		t.Errorf("summary: %s", text)
	}
}

// The page says when a collector's values are old, and what to do about its failure.
func TestLandingPageOfAHungTool(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cards := func(age time.Duration) landing {
		return landing{
			Vendors: vendorViews([]collector.Cards{{Vendor: "metax", Known: true, Taken: now.Add(-age), Seen: 8, Expected: 8}}, now, 10*time.Second),
			Collectors: collectorViews([]collector.Status{{
				Collector: "metax", Polled: true, LastReason: "timeout", LastError: "no answer", Hint: "a sick card?",
			}}, now),
		}
	}
	for age, want := range map[time.Duration]bool{20 * time.Second: false, 25 * time.Second: true} {
		var text, html bytes.Buffer
		if err := textPage()(&text, cards(age)); err != nil {
			t.Fatal(err)
		}
		if err := htmlPage()(&html, cards(age)); err != nil {
			t.Fatal(err)
		}
		const stale, advice = "last read at 11:59:35, 25s ago", "a sick card?"
		for _, shown := range []string{text.String(), html.String()} {
			if strings.Contains(shown, stale) != want || !strings.Contains(shown, advice) {
				t.Errorf("after %s: stale %v wanted, and the hint:\n%s", age, want, shown)
			}
		}
	}
	if got := stale(collector.Cards{}, now, time.Second); got != "" {
		t.Errorf("never read: %q", got)
	}
}

// The history is told oldest first, equal outcomes in one line.
func TestRuns(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(minutes int, reason openai.Reason) probe.Outcome {
		o := probe.Outcome{At: now.Add(time.Duration(minutes) * time.Minute)}
		if reason != "" {
			o.Failure = &openai.Failure{Reason: reason, Unsent: reason == openai.ReasonConnect}
		}
		return o
	}
	got := runs([]probe.Outcome{at(-1500, ""), at(-5, ""), at(-4, openai.ReasonHTTP429), at(-3, openai.ReasonHTTP429), at(-2, openai.ReasonConnect)}, now)
	want := []runView{
		{When: "03-01 11:00:00–11:55:00", Count: 2, Words: "success"},
		{When: "11:56:00–11:57:00", Count: 2, Words: "too many requests for the server (http_429)", Bad: true},
		{When: "11:58:00", Count: 1, Words: "not sent", Bad: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// Where a server has named too many models, the page says which is probed and where it counts.
func TestModelOnThePage(t *testing.T) {
	for want, s := range map[string]probe.Status{
		"not known yet": {},
		"m":             {Model: "m", Label: "m"},
		`m (series: model="other", the server has named too many)`: {Model: "m", Label: "other"},
	} {
		views, _ := probeViews([]probe.Status{s}, time.Now())
		if got := views[0].Model; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whatever tools and servers print, the page stays small, and shows it as text.
func TestLandingPageIsBounded(t *testing.T) {
	evil := "<script>alert(1)</script>" + strings.Repeat("x", 10_000)
	now := time.Now()
	outcome := probe.Outcome{At: now, Model: evil[:200], Failure: &openai.Failure{Reason: openai.ReasonHTTP5xx, Detail: evil[:256]}}
	var statuses []probe.Status
	for range 1000 {
		s := probe.Status{Target: evil[:256], URL: "http://h", Model: evil[:200]}
		for range 20 {
			s.History = append(s.History, outcome)
		}
		statuses = append(statuses, s)
	}
	left := make([]string, 5000)
	devices := make([]model.Device, 5000)
	for i := range left {
		left[i] = fmt.Sprint(i, evil)
		devices[i] = model.Device{ID: evil[:100], Name: evil[:100], Health: &model.Health{State: evil, Reason: evil}}
	}
	v := landing{
		Vendors:    vendorViews([]collector.Cards{{Vendor: "metax", Known: true, Devices: devices, Missing: devices, Seen: 1, Expected: 5000}}, now, time.Second),
		Collectors: collectorViews([]collector.Status{{Collector: "metax", Polled: true, LastError: evil, LeftOut: model.Warnings{Texts: left, Count: len(left)}}}, now),
	}
	v.Probes, v.MoreProbes = probeViews(statuses, now)
	var text, page bytes.Buffer
	if err := textPage()(&text, v); err != nil {
		t.Fatal(err)
	}
	if err := htmlPage()(&page, v); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20
	if text.Len() > most || page.Len() > most {
		t.Errorf("%d and %d bytes", text.Len(), page.Len())
	}
	if strings.Contains(page.String(), "<script") {
		t.Error("what a server printed is not escaped")
	}
	for _, want := range []string{"and 4936 more", "and 4980 more", "and 900 more"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// plainMistake is a mistake of a file as somebody at a terminal reads it.
var plainMistake = regexp.MustCompile(`^accelerator_exporter: \S+/bad.yml:1: url: .*\n$`)

// One request each, its phases and latencies on standard output, and 0 or 1.
func TestProbeOnce(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	good := server(t)
	config := writeFile(t, "probes.yml", fmt.Sprintf("probes: [{name: one, url: %q, max_tokens: 4, slo: {request_duration: 1h}}, {name: two, url: %q, model: m}]", good+"/v1/completions", refusing.URL), 0o644)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"good", []string{"--probe.target=" + good + "/v1/chat/completions"}, 0, []string{"api         chat\n", "connect     ", "TTFT        ", "TPOT        ", "ITL         mean ", " gaps\n", " until the response's headers\n", "E2E         ", "64 output\n", "result      success\n", "request id  "}},
		{"refused", []string{"--probe.target=" + refusing.URL, "--probe.model=m"}, 1, []string{"http_4xx, status 401: the server refused the request\n", "--probe.api-key-file"}},
		{"no key", []string{"--probe.target=" + good, "--probe.api-key-file=/nonexistent"}, 1, []string{"result  not sent\n", "/nonexistent"}},
		{"all of a file", []string{"--config.file=" + config}, 1, []string{"target      one\n", "api         completions\n", "request_duration met\n", "success\n", "target      two\n", "status 401"}},
		{"a mistake in the file", []string{"--config.file=" + writeFile(t, "bad.yml", "probes: [{url: x}]", 0o644)}, 1, nil},
		{"none in the file", []string{"--config.file=" + writeFile(t, "none.yml", "probes: []", 0o644)}, 1, []string{"no target"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log logBuffer
			status := run(t.Context(), nil, append([]string{"--probe.once"}, c.args...), &out, &log)
			if status != c.status || (log.String() != "") != (c.says == nil) || log.String() != "" && !plainMistake.MatchString(log.String()) {
				t.Errorf("exit status %d, want %d; log %q", status, c.status, &log)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
}

// An interrupt cancels the request.
func TestProbeOnceIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	var out, log logBuffer
	status := run(ctx, nil, []string{"--probe.once", "--probe.target=" + silent.URL, "--probe.model=m"}, &out, &log)
	if status != 1 || !strings.Contains(out.String(), "canceled: canceled by the client") {
		t.Errorf("exit status %d\n%s", status, &out)
	}
}

// A probe that cannot be sent says so on the page, with the file, and accuses nobody.
func TestLandingPageOfWhatIsNotSent(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--probe.target="+server(t), "--probe.model=m", "--probe.interval=100ms", "--probe.api-key-file=/nonexistent/key")
	waitFor(t, "the page says that nothing was sent", func() bool {
		text, _ := landingAs(t, p, "*/*")
		return strings.Contains(text, ": not sent\n") && strings.Contains(text, "/nonexistent/key") && strings.Contains(text, " x not sent\n")
	})
	_, metrics := p.get(t, "/metrics")
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "accelerator_probe_failures_total{") && !strings.HasSuffix(line, " 0\n") {
			t.Errorf("a failure is counted: %s", line)
		}
	}
	if !strings.Contains(p.log.String(), "file of a probe is not readable") {
		t.Errorf("no warning at the start:\n%s", p.log)
	}
}
