// Package browser_test opens HTML reports in a browser.
package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// root is the repository.
const root = "../.."

// vramsoak runs the program that make build built.
func vramsoak(t testing.TB, out string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/vramsoak"), args...)
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // the program's exit code says whether it wrote
		cmd.Stdout = f
	}
	var errors strings.Builder
	cmd.Stderr = &errors
	// A page is written whatever the verdict is: 1 and 3 are verdicts.
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 && code != 3 {
		t.Fatalf("vramsoak %s: %v\n%s", strings.Join(args, " "), err, errors.String())
	}
}

// simulated returns a log of a scenario of fixtures/scenarios.
func simulated(t testing.TB, scenario string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), scenario+".log")
	vramsoak(t, path, append([]string{
		"simulate", filepath.Join(root, "fixtures/scenarios", scenario+".yaml"),
	}, args...)...)
	return path
}

// reported returns the report of logs.
func reported(t testing.TB, logs ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	vramsoak(t, "", append([]string{"report", "-o", path}, logs...)...)
	return path
}

// A tab is a page in a browser.
type tab struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex
	messages []string
}

// goOffline is a command that newer versions of the protocol replace by one that Debian's Chromium
// does not know yet.
var goOffline = cdp.Command[offlineConditions, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

type offlineConditions struct {
	Offline            bool    `json:"offline"`
	Latency            float64 `json:"latency"`
	DownloadThroughput float64 `json:"downloadThroughput"`
	UploadThroughput   float64 `json:"uploadThroughput"`
}

// open opens a file without a network and waits until its charts are drawn.
func open(t testing.TB, path string, width int64) *tab {
	t.Helper()
	b := &tab{TB: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	if name := os.Getenv("CHROMIUM"); name != "" {
		options = append(options, chromedp.ExecPath(name))
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b.ctx = ctx
	console := chromedp.Console(ctx)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.messages = append(b.messages, m.String())
			b.mu.Unlock()
		}
	}()
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			if url := r.Request.URL; !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") {
				b.mu.Lock()
				b.messages = append(b.messages, "a request for "+url)
				b.mu.Unlock()
			}
		}
	}()
	offline := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, goOffline, offlineConditions{
			Offline: true, DownloadThroughput: -1, UploadThroughput: -1,
		})
		return err
	})
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	b.do(offline, chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+absolute))
	b.waitUntilReady()
	t.Cleanup(b.quiet)
	return b
}

// waitUntilReady waits until the page has built its charts, or says why it cannot.
func (b *tab) waitUntilReady() {
	b.Helper()
	b.waitFor(`document.documentElement.dataset.ready === "yes" ||
		!document.getElementById("trouble").hidden`)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// waitFor waits until an expression is true.
func (b *tab) waitFor(expression string) {
	b.Helper()
	for range 600 {
		if eval[bool](b, expression) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.Fatalf("it never became true: %s", expression)
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// quiet fails the test if the page printed anything, such as an error or a violated policy.
func (b *tab) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if strings.TrimSpace(m) != ":" {
			b.Errorf("the console has: %s", m)
		}
	}
}

// A box is the place of an element on the page.
type box struct{ X, Y, W, H float64 }

// box scrolls to an element and returns its place in the window.
func (b *tab) box(selector string) box {
	b.Helper()
	r := eval[[]float64](b, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect();
		return [r.x, r.y, r.width, r.height];
	})()`, selector))
	return box{r[0], r[1], r[2], r[3]}
}

// shoot keeps a picture of the page or of an element, if PICTURES names a folder.
func (b *tab) shoot(name, selector string) {
	b.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	r := eval[[]float64](b, fmt.Sprintf(`(() => {
		const r = document.querySelector(%q).getBoundingClientRect();
		return [r.x + scrollX, r.y + scrollY, r.width, r.height];
	})()`, selector))
	shot, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		res, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: new(true),
			Clip:                  &page.Viewport{X: r[0], Y: r[1], Width: r[2], Height: r[3], Scale: 1},
		})
		return res.Data, err
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644); err != nil {
		b.Fatal(err)
	}
}

// accessible fails the test if axe-core finds something serious.
func (b *tab) accessible() {
	b.Helper()
	axe := os.Getenv("AXE")
	if axe == "" {
		b.Log("accessibility: not run: AXE does not name axe.min.js; make test-browser fetches it")
		return
	}
	script, err := os.ReadFile(axe)
	if err != nil {
		b.Fatal(err)
	}
	// The policy of the page does not bind what the debugger evaluates.
	eval[bool](b, string(script)+"; true")
	found := eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) =>
		JSON.stringify({passes: r.passes.length, violations: r.violations.map((v) => ({
			id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)),
		}))}))`)
	var result struct {
		Passes     int
		Violations []struct {
			ID, Impact string
			Nodes      []string
		}
	}
	if err := json.Unmarshal([]byte(found), &result); err != nil {
		b.Fatal(err)
	}
	if result.Passes < 20 {
		b.Errorf("axe-core checked only %d rules", result.Passes)
	}
	for _, v := range result.Violations {
		if v.Impact == "serious" || v.Impact == "critical" {
			b.Errorf("axe-core: %s (%s): %s", v.ID, v.Impact, strings.Join(v.Nodes, "\n"))
		} else {
			b.Logf("axe-core: %s (%s): %s", v.ID, v.Impact, strings.Join(v.Nodes, "\n"))
		}
	}
}
