package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestReport opens the report of a leak, and uses it as a reader does.
func TestReport(t *testing.T) {
	path := reported(t, simulated(t, "long-batch-before", "--files", "60"))
	for _, width := range []int64{1280, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, path, width)
			if text := eval[string](b, `document.getElementById("trouble").textContent`); text != "" {
				t.Fatal(text)
			}
			if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %g pixels wider than the window", over)
			}
			b.shoot(fmt.Sprintf("report-%d", width), "main")
			b.expectOrder("judged", "charts") // a leak fails, and its chart shows it best
			b.hover("#over-time")
			b.hover("#over-files")
			b.zoom()
			b.keys()
			b.toggle()
			b.pick()
			b.follow()
			b.accessible()
			eval[bool](b, `document.getElementById("theme").click(), true`)
			b.accessible()
			b.shoot(fmt.Sprintf("report-dark-%d", width), "main")
		})
	}
}

// expectOrder expects one section, and its link of the navigation, directly before another.
func (b *tab) expectOrder(first, second string) {
	b.Helper()
	for _, of := range []string{
		`[...document.querySelectorAll("main > section")].map((e) => e.id)`,
		`[...document.querySelectorAll(".bar nav a")].map((e) => e.hash.slice(1))`,
	} {
		if all := strings.Join(eval[[]string](b, of), " "); !strings.Contains(all, first+" "+second) {
			b.Errorf("the order is %s, want %s before %s", all, first, second)
		}
	}
}

// hover points at the middle of a chart, and expects a reading with its bytes and its file.
func (b *tab) hover(chart string) {
	b.Helper()
	b.point(chart)
	tip := eval[string](b, fmt.Sprintf(`document.querySelector("%s .tip").innerText`, chart))
	for _, want := range []string{" bytes)", "GiB", ".wav"} {
		if !strings.Contains(tip, want) {
			b.Errorf("%s: the tip lacks %q: %s", chart, want, tip)
		}
	}
}

// span returns how much of the x axis the chart over time shows.
func (b *tab) span() float64 {
	b.Helper()
	return eval[float64](b, `timeChart.u.scales.x.max - timeChart.u.scales.x.min`)
}

// zoom drags over a fifth of the chart over time, and double-clicks to see everything again.
func (b *tab) zoom() {
	b.Helper()
	at := b.box("#over-time .u-over")
	whole := b.span()
	y := at.Y + at.H/2
	b.do(
		chromedp.MouseEvent(chromedp.MouseMoved, at.X+0.4*at.W, y),
		chromedp.MouseEvent(chromedp.MousePressed, at.X+0.4*at.W, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, at.X+0.5*at.W, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, at.X+0.6*at.W, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at.X+0.6*at.W, y, chromedp.ButtonLeft),
	)
	if part := b.span() / whole; part < 0.15 || part > 0.25 {
		b.Errorf("after a drag over a fifth, the chart shows %.2f of the axis", part)
	}
	b.do(chromedp.MouseClickXY(at.X+0.5*at.W, y),
		chromedp.MouseClickXY(at.X+0.5*at.W, y, chromedp.ClickCount(2)))
	if part := b.span() / whole; part != 1 {
		b.Errorf("after a double-click, the chart shows %.2f of the axis", part)
	}
}

// keys walks through the readings of the chart over time with the keyboard.
func (b *tab) keys() {
	b.Helper()
	whole := b.span()
	eval[bool](b, `document.querySelector("#over-time .plot").focus(), true`)
	b.do(chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	said := eval[string](b, `document.querySelector("#over-time [role=status]").textContent`)
	if !strings.Contains(said, "bytes)") {
		b.Errorf("an arrow key says %q", said)
	}
	b.do(chromedp.KeyEvent("+"))
	if part := b.span() / whole; part >= 1 {
		b.Errorf("after +, the chart shows %.2f of the axis", part)
	}
	b.do(chromedp.KeyEvent("0"))
	if part := b.span() / whole; part != 1 {
		b.Errorf("after 0, the chart shows %.2f of the axis", part)
	}
}

// toggle hides a line and shows it again.
func (b *tab) toggle() {
	b.Helper()
	const first = `document.querySelector("#over-time button")`
	for _, want := range []bool{false, true} {
		shown := eval[bool](b, first+`.click(), timeChart.u.series[1].show`)
		if said := eval[string](b, first+`.getAttribute("aria-pressed")`); shown != want ||
			said != fmt.Sprint(want) {
			b.Errorf("the line is shown: %v, its button says %s, want %v", shown, said, want)
		}
	}
}

// pick opens the file in the middle of the chart over files.
func (b *tab) pick() {
	b.Helper()
	at := b.box("#over-files .u-over")
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, at.X+at.W/2, at.Y+at.H/2),
		chromedp.MouseClickXY(at.X+at.W/2, at.Y+at.H/2))
	title := eval[string](b, `document.getElementById("file-title").textContent`)
	if !strings.Contains(title, "file 30: 0030.wav") && !strings.Contains(title, "file 31: 0031.wav") {
		b.Errorf("a click in the middle of 60 files opens %q", title)
	}
	rows := eval[int](b, `document.querySelectorAll("#file-body tbody tr").length`)
	if rows != 6 { // the scenario prints 360 checkpoints for 60 files
		b.Errorf("the file has %d checkpoints, want 6", rows)
	}
}

// follow follows the link of the first finding to its chart.
func (b *tab) follow() {
	b.Helper()
	eval[bool](b, `document.querySelector("#findings a.show").click(), true`)
	if focus := eval[string](b, `document.activeElement.className`); focus != "plot" {
		b.Errorf("the link of a finding leads to %q, not to a chart", focus)
	}
	if top := eval[float64](b, `document.getElementById("trend-0").getBoundingClientRect().top`); top < 0 || top > 900 {
		b.Errorf("the chart of the finding is at %g", top)
	}
}

// TestFailedRequest opens the report of a file that asks for 21.3 GiB of 24 GiB. 4.31 GiB were in
// use, so that the request reaches above the device in both charts, and the table of the file has it
// between its two checkpoints.
func TestFailedRequest(t *testing.T) {
	var log strings.Builder
	for i := range 8 {
		fmt.Fprintf(&log, "[pipeline] file-start path=%d.wav\n", i+1)
		reading := func(name string, allocated float64) {
			fmt.Fprintf(&log, "[GPU Memory] %s: Allocated: %.2fGB | Reserved: 4.00GB | Total: 24.00GB\n",
				name, allocated)
		}
		reading("Before Transcription", 0.29)
		status := "ok"
		if i == 4 {
			log.WriteString("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 21.30 GiB. GPU 0 " +
				"has a total capacity of 24.00 GiB of which 19.69 GiB is free. Of the allocated memory 3.72 " +
				"GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.\n")
			status = "oom"
		} else {
			reading("Before Whisper Cleanup", 3.8)
		}
		reading("After Whisper Cleanup", 0.3)
		fmt.Fprintf(&log, "[pipeline] file-end path=%d.wav status=%s\n", i+1, status)
	}
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b := open(t, reported(t, path), 1280)
	for _, chart := range []string{"timeChart", "filesChart"} {
		if most := eval[float64](b, chart+`.u.scales.y.max / 2**30`); most < 25.6 || most > 30 {
			b.Errorf("the axis of %s ends at %.1f GiB, want what the request reaches", chart, most)
		}
	}
	b.expectOrder("findings", "charts")
	rows := eval[string](b, `[...document.querySelectorAll("#file-body tbody tr")].map((r) =>
		r.querySelector("th").textContent).join("; ")`)
	const want = "Before Transcription; ✗ out of memory: 21.3 GiB requested, 3.72 GiB allocated, " +
		"19.7 GiB free; After Whisper Cleanup"
	if rows != want {
		b.Errorf("the file's table has the rows %q, want %q", rows, want)
	}
	heads := eval[string](b, `[...document.querySelectorAll("#files th[scope=col], #file-body thead th")]
		.map((e) => e.textContent).join("; ")`)
	for _, empty := range []string{"Took", "freed"} { // the log has no times, and no stage ends
		if strings.Contains(heads, empty) {
			b.Errorf("the tables have the empty column %s: %s", empty, heads)
		}
	}
	b.shoot("failed-request", "main")
}

// TestNarrow opens pages on a phone. Nothing of a table is outside of the window: each row is a
// card, with the names of its columns. The navigation is there as a whole, and no setting is broken
// within a word.
func TestNarrow(t *testing.T) {
	for name, path := range map[string]string{
		"report":  reported(t, simulated(t, "long-batch-before", "--files", "30")),
		"history": historyPage(t),
	} {
		b := open(t, path, 390)
		cut := eval[[]string](b, `[...document.querySelectorAll(
				".scroll > table:not(.log) td, .scroll > table:not(.log) th[scope=row], .bar nav a")]
			.filter((e) => e.checkVisibility()).filter((e) => {
				const r = e.getBoundingClientRect();
				return r.right > innerWidth || r.left < 0 || e.scrollWidth > e.clientWidth + 1;
			}).map((e) => e.textContent)`)
		cut = slices.DeleteFunc(cut, func(s string) bool { return s == "" })
		if len(cut) > 0 {
			t.Errorf("%s: %d cells or links are outside of the window, the first: %.200q", name, len(cut),
				cut[0])
		}
		bare := eval[int](b, `[...document.querySelectorAll(".scroll > table:not(.log) td")].filter((e) =>
			e.checkVisibility() && e.textContent && getComputedStyle(e, "::before").content === "none")
			.length`)
		if bare > 0 {
			t.Errorf("%s: %d cells do not name their column", name, bare)
		}
		b.shoot("narrow-"+name, "main")
		b.accessible()
	}
}

// historyPage returns the report of a history of ten runs. The last five leak.
func historyPage(t testing.TB) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "history.db")
	for i := range 10 {
		scenario := "long-batch-after"
		if i >= 5 {
			scenario = "long-batch-before"
		}
		log := simulated(t, scenario, "--files", "8")
		vramsoak(t, "", "history", "add", "--db", db, "--started",
			fmt.Sprintf("2026-11-%02dT02:00:00Z", i+1), log)
	}
	path := filepath.Join(t.TempDir(), "history.html")
	vramsoak(t, "", "history", "trend", "--db", db, "-o", path)
	return path
}

// TestHostile opens the report of a log whose names try to become markup or script.
func TestHostile(t *testing.T) {
	names := []string{
		`</script><script>document.title = "broken"</script>`, `"><img src=x onerror="document.title = 'broken'">`,
		"\u2028document.title = 'broken'", "\u202egpj.exe", `' onmouseover='document.title = 1`, "<!--", "__proto__",
	}
	var log strings.Builder
	for i := range 12 {
		for _, name := range names {
			fmt.Fprintf(&log, "[pipeline] file-start path=%q\n", name)
			for _, word := range []string{"Before", "After"} {
				fmt.Fprintf(&log, "[GPU Memory] %s %s Cleanup: Allocated: %d.00GB | Reserved: 20.00GB\n", word, name, i+1)
			}
			fmt.Fprintf(&log, "[pipeline] file-end path=%q status=failed error=%q\n", name, name)
		}
	}
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b := open(t, reported(t, path), 1280)
	b.point("#over-time")
	if title := eval[string](b, `document.title`); !strings.HasSuffix(title, " - vramsoak") {
		t.Errorf("a name became script: the title is %q", title)
	}
	if n := eval[int](b, `document.images.length`); n != 0 {
		t.Errorf("a name became %d images", n)
	}
	if n := eval[int](b, `document.scripts.length`); n != 2 {
		t.Errorf("the page has %d scripts, want 2", n)
	}
}

// TestNames opens the reports of logs with names of 10,000 letters, and with names of blanks. No name
// makes the page wider than its window, and each button has a name.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, path := range map[string]string{
		"file": long + ".wav", "folders": strings.Repeat("folder/", 1500) + "a.wav", "blanks": "   ",
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			for i := range 20 {
				fmt.Fprintf(&log, "[pipeline] file-start path=%q\n", path)
				for _, word := range []string{"Before", "After"} {
					fmt.Fprintf(&log, "[GPU Memory] %s %s: Allocated: %d.00MB | Total: 24.00GB\n", word,
						long[:3000], 1000+30*i)
				}
				fmt.Fprintf(&log, "[pipeline] file-end path=%q status=ok\n", path)
			}
			file := filepath.Join(t.TempDir(), "run.log")
			if err := os.WriteFile(file, []byte(log.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			page := reported(t, file)
			for _, width := range []int64{1280, 390} {
				b := open(t, page, width)
				if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("at %d the page is %g pixels wider than the window", width, over)
				}
				b.accessible()
			}
		})
	}
}

// point points at a chart and expects any tip.
func (b *tab) point(chart string) {
	b.Helper()
	at := b.box(chart + " .u-over")
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, at.X+at.W/2, at.Y+at.H/2))
	b.waitFor(fmt.Sprintf(`!document.querySelector("%s .tip").hidden`, chart))
}

// TestPages opens the pages of a history, a comparison, a validation and a snapshot, and of a log
// with segment maps.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	logs := filepath.Join(root, "fixtures/compat/logs")
	exact, leak := filepath.Join(logs, "exact.log"), filepath.Join(logs, "leak.log")
	for i, log := range []string{exact, leak} {
		vramsoak(t, "", "history", "add", log, "--db", in("h.db"), "--started",
			fmt.Sprintf("2026-11-%02dT02:00:00Z", 20+i))
	}
	vramsoak(t, "", "history", "trend", "--db", in("h.db"), "-o", in("history.html"))
	vramsoak(t, "", "compare", exact, leak, "-o", in("compare.html"))
	vramsoak(t, "", "validate", filepath.Join(root, "fixtures/scenarios/long-batch-before.yaml"),
		"--files", "100", "-o", in("validate.html"))
	vramsoak(t, "", "report", "-o", in("snapshot.html"), filepath.Join(root,
		"fixtures/logs/torch_snapshot/kkaitlyn111-cs336-a2-systems-mory-files-memory-ctx128-forward-.pickle"))
	for _, c := range []struct {
		name string
		ask  string // true if the page shows what it should
	}{
		{"history", `document.querySelectorAll("#series-body canvas").length > 0`},
		{"compare", `document.querySelectorAll("#series-body canvas").length > 0`},
		{"validate", `document.querySelectorAll(".bars svg").length === 3`},
		{"snapshot", `document.querySelectorAll("#flame canvas, #treemap canvas, #segments canvas").length === 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, width := range []int64{1280, 390} {
				b := open(t, in(c.name+".html"), width)
				if text := eval[string](b, `document.getElementById("trouble").textContent`); text != "" {
					t.Fatal(text)
				}
				if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("the page is %g pixels wider than the window", over)
				}
				if !eval[bool](b, c.ask) {
					t.Errorf("false: %s", c.ask)
				}
				b.shoot(fmt.Sprintf("%s-%d", c.name, width), "main")
				b.accessible()
				if c.name == "snapshot" {
					b.flame()
				}
			}
		})
	}
}

// TestSnapshots opens a page of two snapshots. It begins with the one that holds more, and shows the
// other after a choice: its flame graph, its segments and its tables.
func TestSnapshots(t *testing.T) {
	logs := filepath.Join(root, "fixtures/logs/torch_snapshot")
	path := filepath.Join(t.TempDir(), "snapshots.html")
	vramsoak(t, "", "report", "-o", path,
		filepath.Join(logs, "silmont2000-assignment2-systems-mem-snapshot.pickle"),
		filepath.Join(logs, "kkaitlyn111-cs336-a2-systems-mory-files-memory-ctx128-forward-.pickle"))
	b := open(t, path, 1280)
	shown := func(want string, device int) {
		t.Helper()
		titles := eval[[]string](b, `[...document.querySelectorAll(".of-device h2")]
			.filter((e) => e.checkVisibility()).map((e) => e.textContent)`)
		if len(titles) != 2 {
			t.Errorf("tables are shown: %q, want those of one device", titles)
		}
		for _, of := range append(titles, eval[[]string](b,
			`[...document.querySelectorAll("#flame-body .plot, #treemap-body .plot")].map((e) =>
				e.getAttribute("aria-label"))`)...) {
			if !strings.Contains(of, want) {
				t.Errorf("the page shows %q, want %s", of, want)
			}
		}
		if is := eval[string](b, `document.getElementById("device-which").value`); is != fmt.Sprint(device) {
			t.Errorf("the switcher says %s, want %d", is, device)
		}
	}
	shown("ctx128-forward-.pickle, device 0", 1)
	kept := eval[string](b, `document.querySelector("#verdict a[href^='#kept']").hash`)
	if !eval[bool](b, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, kept)) {
		t.Errorf("the summary links to %s, which is hidden", kept)
	}
	b.shoot("snapshots", "main")
	b.accessible()
	before := eval[int](b, `charts.size`)
	eval[bool](b, `(() => {
		const which = document.getElementById("device-which");
		which.value = "0";
		return which.dispatchEvent(new Event("change"));
	})()`)
	shown("systems-mem-snapshot.pickle, device 0", 0)
	if after := eval[int](b, `charts.size`); after != before {
		t.Errorf("the page draws %d charts, and %d after the choice", before, after)
	}
	b.flame()
	eval[bool](b, `document.querySelector("#verdict a[href^='#kept']").click(), true`)
	shown("ctx128-forward-.pickle, device 0", 1)
	if top := eval[float64](b, fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().top`,
		kept)); top < 0 || top > 900 {
		t.Errorf("after another choice, the link %s leads to %g", kept, top)
	}
}

// flame points at the flame graph, and walks through it with the keys.
func (b *tab) flame() {
	b.Helper()
	at := b.box("#flame-body canvas")
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, at.X+at.W/4, at.Y+8))
	tip := eval[string](b, `document.querySelector("#flame-body .tip").innerText`)
	if !strings.Contains(tip, " bytes)") || !strings.Contains(tip, "blocks") {
		b.Errorf("the tip of the flame graph says %q", tip)
	}
	eval[bool](b, `document.querySelector("#flame-body .plot").focus(), true`)
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter),
		chromedp.KeyEvent(kb.Escape))
	said := eval[string](b, `document.querySelector("#flame-body [role=status]").textContent`)
	if !strings.Contains(said, "bytes)") {
		b.Errorf("an arrow key says %q", said)
	}
}

// TestRequest opens the report of a run in which an allocation failed. The chart over time reaches up
// to what was allocated and the failed request.
func TestRequest(t *testing.T) {
	b := open(t, reported(t, filepath.Join(root, "fixtures/examples/night.log")), 1280)
	ask := `doc.events.filter((e) => e.request).map((e) => e.level + e.request)`
	reach := eval[[]float64](b, ask)
	if len(reach) == 0 {
		b.Fatal("no failed request is marked")
	}
	if top := eval[float64](b, `timeChart.u.scales.y.max`); top < reach[0] {
		b.Errorf("the chart ends at %g bytes, the request at %g", top, reach[0])
	}
}

// TestPaper prints a report. Paper has no buttons, so the lines of each chart have their names below
// it; the page says how many series it leaves out, and has the table of files.
func TestPaper(t *testing.T) {
	b := open(t, reported(t, ranksLog(t, 6)), 720)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	}))
	b.shoot("report-paper", "main")
	const seen = `.filter((e) => e.checkVisibility()).map((e) => e.innerText.trim())`
	buttons := eval[[]string](b, `[...document.querySelectorAll("button:not(.linklike, .device), #findings a")]`+seen)
	if len(buttons) > 0 {
		b.Errorf("paper has buttons: %q", buttons)
	}
	legends := eval[[]string](b, `[...document.querySelectorAll(".chart .key.on-paper")]`+seen)
	charts := eval[int](b, `document.querySelectorAll(".chart .uplot").length`)
	all := strings.Join(legends, "\n")
	if len(legends) != charts || charts < 3 || !strings.Contains(all, "highest allocated") ||
		strings.Contains(all, "highest reserved") {
		b.Errorf("%d charts have the legends %q", charts, legends)
	}
	text := eval[string](b, `document.querySelector("main").innerText`)
	for _, want := range []string{"Not printed: ", " more series", "20.wav", "120 files"} {
		if !strings.Contains(text, want) {
			b.Errorf("paper lacks %q", want)
		}
	}
}

// ranksLog returns the log of ranks that work on 20 files each. All but rank 0 leak.
func ranksLog(t *testing.T, ranks int) string {
	var log strings.Builder
	for i := range 20 {
		for rank := range ranks {
			fmt.Fprintf(&log, "[pipeline] file-start path=%02d.wav rank=%d\n", i+1, rank)
			for _, word := range []string{"Before", "After"} {
				fmt.Fprintf(&log, "[GPU Memory] %s Diarization: Allocated: %.2fGB | Reserved: 9.00GB | "+
					"Total: 24.00GB | rank=%d device=%d\n", word, 2+0.1*float64(i*rank), rank, rank)
			}
			fmt.Fprintf(&log, "[pipeline] file-end path=%02d.wav status=ok rank=%d\n", i+1, rank)
		}
	}
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRanks opens the report of two ranks. Rank 1 leaks, so the page begins with it, and shows rank
// 0 after a click. The table of files has the readings of both.
func TestRanks(t *testing.T) {
	b := open(t, reported(t, ranksLog(t, 2)), 1280)
	chosen := `document.querySelector("#devices [aria-pressed=true]").innerText`
	if first := eval[string](b, chosen); !strings.Contains(first, "✗ rank 1, device 1") {
		t.Errorf("the page begins with %q, want rank 1, which leaks", first)
	}
	for rank := range 2 {
		ofRank := fmt.Sprintf(`[...document.querySelectorAll("#files-table tbody tr")].filter((r) =>
			r.innerText.includes("rank %d") && / GiB.* GiB/s.test(r.innerText) && r.innerText.includes("ok")).length`, rank)
		if n := eval[int](b, ofRank); n != 20 {
			b.Errorf("%d files of rank %d are in the table with their readings, want 20", n, rank)
		}
	}
	eval[bool](b, `document.querySelector("#devices button").click(), true`)
	if next := eval[string](b, chosen); !strings.Contains(next, "rank 0, device 0") {
		t.Errorf("after a click, the page shows %q", next)
	}
	b.accessible()
}
