package show_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is the page in a browser, with what it must not do: complain, ask, or reach for anything else.
type tab struct {
	testing.TB
	context.Context
	mu  sync.Mutex
	bad []string
}

func (b *tab) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		text = fmt.Sprintf("console: %s", e.Type)
	case *log.EventEntryAdded:
		text = "log: " + e.Entry.Text
	case *page.EventJavascriptDialogOpening:
		text = "dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasSuffix(e.Request.URL, "/report.html") {
			text = "request: " + e.Request.URL
		}
	}
	if text != "" {
		b.mu.Lock()
		b.bad = append(b.bad, text)
		b.mu.Unlock()
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	noError(b.TB, chromedp.Do(b, steps...))
}

// text is the value of a script, in which chart(TITLE) is the first chart over time of such a title.
func (b *tab) text(script string) string {
	b.Helper()
	const chart = `const chart = title => [...document.querySelectorAll(".over-time figure")].find(f => f.textContent.startsWith(title));`
	text, err := chromedp.Run(b, chromedp.Evaluate[string](`(() => {`+chart+`return String(`+script+`)})()`))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return text
}

// at is a place on a chart, a share of its width from the left and half way down.
func (b *tab) at(title string, share float64) (x, y float64) {
	b.Helper()
	text := b.text(`(() => {const f = chart("` + title + `").querySelector(".u-over"); f.scrollIntoView({block: "center"});
		const r = f.getBoundingClientRect(); return (r.x + r.width * ` + fmt.Sprint(share) + `) + " " + (r.y + r.height / 2)})()`)
	if _, err := fmt.Sscan(text, &x, &y); err != nil {
		b.Fatal(err)
	}
	return x, y
}

// hover moves the mouse onto a chart, and waits until its legend says at which second.
func (b *tab) hover(title string, share, second float64) {
	b.Helper()
	x, y := b.at(title, share)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	got := 0.0
	for deadline := time.Now().Add(10 * time.Second); ; {
		_, _ = fmt.Sscan(b.text(`chart("`+title+`").querySelector(".u-value").textContent`), &got)
		if got >= second-1.5 && got <= second+1.5 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s at %g of its width shows second %g, want %g", title, share, got, second)
		}
	}
}

func (b *tab) legend(title string) string {
	return b.text(`[...chart("` + title + `").querySelectorAll(".u-series")].map(s => s.textContent).join("|")`)
}

func newTab(browser context.Context, t *testing.T, width int64, scheme string) *tab {
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{TB: t, Context: ctx}
	b.do(chromedp.EmulateViewport(width, 900))
	noError(t, chromedp.Listen(ctx, b.listen))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		t.Fatal(err)
	}
	return b
}

// The page as a user opens it, from a file: charts are drawn, the mouse shows values and zooms the charts of a step
// together, and nothing leaves the page although every name in it is a script.
func TestPageInBrowser(t *testing.T) {
	found := slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	switch {
	case !found && os.Getenv("CI") == "":
		t.Skip("no chromium")
	case !found:
		t.Fatal("no chromium")
	}
	file := filepath.Join(t.TempDir(), "report.html")
	r := timedSweep()
	r.Steps = r.Steps[:2]
	noError(t, os.WriteFile(file, []byte(renderedPage(t, r)), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	noError(t, chromedp.Do(ctx))
	for _, width := range []int64{1400, 400} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				lookAt(newTab(ctx, t, width, scheme), "file://"+file, width, scheme)
			})
		}
	}
}

func lookAt(b *tab, url string, width int64, scheme string) {
	b.do(chromedp.Navigate(url))
	// Each canvas has pixels of its first series' color.
	drawn := b.text(`[...document.querySelectorAll("canvas")].filter(c => {
		const want = getComputedStyle(document.documentElement).getPropertyValue("--c1").trim().match(/[0-9a-f]{2}/g).map(h => parseInt(h, 16));
		const all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < all.length; i += 4) if (all[i + 3] > 100 && want.every((v, k) => Math.abs(v - all[i + k]) < 6)) n++;
		return n >= 20}).length`)
	if drawn != "20" { // 8 over the load, 6 of each of 2 steps
		b.Errorf("%s charts are drawn", drawn)
	}
	if got := b.text(`document.documentElement.scrollWidth`); got != fmt.Sprint(width) {
		b.Errorf("the page is %s px wide", got)
	}
	if got := b.text(`getComputedStyle(document.body).backgroundColor`); (got == "rgb(255, 255, 255)") != (scheme == "light") {
		b.Errorf("the ground is %s", got)
	}
	if got := b.text(`document.querySelectorAll("img").length + " " + chart("TTFT").querySelectorAll(".u-label")[2].textContent`); got != "0 "+markup {
		b.Errorf("a reason's name is %q", got)
	}

	b.hover("TTFT", 0.5, 59.5)
	if got := b.legend("TTFT"); !strings.HasPrefix(got, "at59.00 s|TTFT159|") && !strings.HasPrefix(got, "at60.00 s|TTFT160|") {
		b.Errorf("TTFT shows %q", got)
	}
	for title, want := range map[string]string{"E2E": "E2E2,000", "load generator": "sent late0.1", "server": "running8|waiting4", "power": "200"} {
		if got := b.legend(title); !strings.Contains(got, want) {
			b.Errorf("the others' cursor shows %q on %s, want %q", got, title, want)
		}
	}
	x, y := b.at("TTFT", 0.25)
	toX, _ := b.at("TTFT", 0.5)
	b.do(chromedp.DragAndDropXY(x, y, toX, y))
	b.hover("TTFT", 0.01, 30)
	b.hover("E2E", 0.99, 59)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".over-time button:enabled").click()`))
	b.hover("TTFT", 0.99, 118)

	if folder := os.Getenv("E2E_REPORT"); folder != "" { // for a person to look at
		picture, err := chromedp.Run(b, chromedp.FullScreenshot(100))
		noError(b.TB, err)
		noError(b.TB, os.WriteFile(filepath.Join(folder, fmt.Sprintf("report-%d-%s.png", width, scheme)), picture, 0o644))
	}
	if scheme == "dark" && width == 400 { // on paper it is light and wider, and then as before
		pdf, err := chromedp.Run(b, chromedp.PrintToPDF())
		if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
			b.Errorf("printing: %d bytes, %v", len(pdf), err)
		}
		if got := b.text(`chart("TTFT").querySelector(".uplot").clientWidth < 400`); got != "true" {
			b.Error("charts stay as they were printed")
		}
	}
	if len(b.bad) > 0 {
		b.Errorf("%q", b.bad)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { b.Error("a request left the page") }))
	defer server.Close()
	refused, err := chromedp.Run(b, chromedp.Evaluate[string](`fetch("`+server.URL+`").then(() => "sent", () => "refused")`, chromedp.EvalAwaitPromise))
	if err != nil || refused != "refused" {
		b.Errorf("a request is %s, %v", refused, err)
	}
}
