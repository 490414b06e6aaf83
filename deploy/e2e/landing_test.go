//go:build e2e

package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

var update = flag.Bool("update", false, "write the picture in docs anew")

// landingPage looks at the exporter's first page as a browser shows it: of a
// healthy host, and of one with a tool that fails.
func landingPage(t *testing.T, h *host) {
	browser := programtest.Find(t, "chromium", "chromium-browser", "google-chrome")
	shows := func(what string, parts ...string) (dom string) {
		programtest.Eventually(t, patience, what, func() error {
			dom, _ = programtest.Status(t, nil, append(headless(t, browser), "--dump-dom", "http://"+h.exporter+"/")...)
			for _, part := range parts {
				if !strings.Contains(dom, part) {
					return fmt.Errorf("no %s in\n%s", part, dom)
				}
			}
			return nil
		})
		return dom
	}
	const works, fails = `<td class="good">works</td>`, `<td class="bad">exit</td>`
	dom := shows("the page tells the state of every source",
		"<td>metax</td>", "<td>ascend</td>", "<td>numa</td>", "<td>containers</td>", works,
		`<span class="good">8 of 8 cards, 8 healthy</span>`,
		"<h3>"+h.probe+`: <span class="good">success</span>`, "http://"+h.vllm+" · chat · model qwen2.5", "TTFT <b>",
		`href="/metrics"`, `href="-/healthy"`)
	if strings.Count(dom, works) != 4 || strings.Contains(dom, `class="bad"`) {
		t.Errorf("a healthy host's page has something bad:\n%s", dom)
	}
	h.set(t, "npu-smi.fault", "exit")
	dom = shows("the page tells what fails", fails)
	if strings.Count(dom, works) != 3 {
		t.Errorf("one tool fails, and not all of the rest work:\n%s", dom)
	}
	picture := filepath.Join(reports(t), "landing-page.png")
	programtest.Output(t, ".", nil, append(headless(t, browser), "--window-size=1100,1400", "--screenshot="+picture, "http://"+h.exporter+"/")...)
	text, err := os.ReadFile(picture)
	programtest.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(text))
	programtest.NoError(t, err)
	if n := inked(img); n < 2000 {
		t.Errorf("%s is blank: %d dark pixels", picture, n)
	}
	if *update {
		programtest.NoError(t, os.WriteFile("../../docs/images/landing-page.png", text, 0o644))
	}
}

func headless(t *testing.T, browser string) []string {
	t.Helper()
	return []string{
		browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-proxy-server", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-default-apps", "--disable-sync", "--disable-extensions", "--user-data-dir=" + t.TempDir(),
	}
}

// inked counts the pixels that are darker than a light grey.
func inked(img image.Image) int {
	n := 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			if c, _ := color.GrayModel.Convert(img.At(x, y)).(color.Gray); c.Y < 128 {
				n++
			}
		}
	}
	return n
}

// reports is the folder for what a person may want to read afterwards.
func reports(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("E2E_REPORT")
	if dir == "" {
		dir = "../../bin/e2e"
	}
	programtest.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}
