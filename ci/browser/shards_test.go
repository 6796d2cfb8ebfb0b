package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// shardedRun returns the folder of a simulated run of 24 shards on 3 nodes, which leaks. Shard 24
// has a page of its own, and shard 7 is missing.
func shardedRun(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	vramsoak(t, "", "simulate", filepath.Join(root, "fixtures/scenarios/long-batch-before.yaml"),
		"--files", "480", "--shards", "24", "--out", dir, "--segments=false")
	if err := os.RemoveAll(filepath.Join(dir, "shard-0007")); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(dir, "shard-0024")
	vramsoak(t, "", "report", last, "-o", filepath.Join(last, "report.html"))
	vramsoak(t, "", "report", dir, "-o", filepath.Join(dir, "report.html"))
	return dir
}

// TestShards opens the page of a run of many shards, and uses it as a reader does: the map with
// keys and mouse, the choice of a shard, the table with its filters, and the way to the page of a
// shard and back.
func TestShards(t *testing.T) {
	dir := shardedRun(t)
	for _, width := range []int64{1280, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := open(t, filepath.Join(dir, "report.html"), width)
			if text := eval[string](b, `document.getElementById("trouble").textContent`); text != "" {
				t.Fatal(text)
			}
			if over := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("the page is %g pixels wider than the window", over)
			}
			b.shoot(fmt.Sprintf("shards-%d", width), "main")
			b.useMap()
			b.chooseShards()
			b.useTable()
			b.accessible()
			eval[bool](b, `{
				const by = document.getElementById("map-by");
				by.value = "1";
				by.dispatchEvent(new Event("change"));
				document.getElementById("theme").click();
				true
			}`)
			b.accessible()
			b.shoot(fmt.Sprintf("shards-dark-%d", width), "main")
			b.openAndReturn()
		})
	}
}

// shardTitle returns the heading of the shard that is chosen.
func (b *tab) shardTitle() string {
	b.Helper()
	return eval[string](b, `document.getElementById("shard-title").textContent`)
}

// expectShard expects a shard to be chosen.
func (b *tab) expectShard(number int, after string) {
	b.Helper()
	if title := b.shardTitle(); !strings.Contains(title+" ", fmt.Sprintf(" Shard %d ", number)) {
		b.Errorf("after %s, the page shows %q, want shard %d", after, title, number)
	}
}

// useMap walks over the map. Shard 7 is missing, so its node is unknown and it comes last.
func (b *tab) useMap() {
	b.Helper()
	b.expectShard(7, "opening")
	eval[bool](b, `document.querySelector("#map-body .plot").focus(), true`)
	b.do(chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	b.expectShard(2, "Home and the right arrow")
	said := eval[string](b, `document.querySelector("#map-body [role=status]").textContent`)
	for _, want := range []string{"shard 2 on node n1", "undecided", "files 20", "GiB of 15.5 GiB"} {
		if !strings.Contains(said, want) {
			b.Errorf("an arrow key says %q, without %q", said, want)
		}
	}
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.expectShard(10, "the down arrow")
	cell := eval[[]float64](b, `(() => {
		const map = new ShardMap(measures()[0]);
		const cell = map.cells.find((c) => doc.shards.number[c.row] === 12);
		return [cell.x + map.size / 2, cell.y + map.size / 2];
	})()`)
	at := b.box("#map-body canvas")
	x, y := at.X+cell[0], at.Y+cell[1]
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y), chromedp.MouseClickXY(x, y))
	b.expectShard(12, "a click on its cell")
	tip := eval[string](b, `document.querySelector("#map-body .tip").innerText`)
	if !strings.Contains(tip, "shard 12 on node n2") || !strings.Contains(tip, "leak") {
		b.Errorf("the tip of shard 12 is %q", tip)
	}
}

// chooseShards goes from shard to shard.
func (b *tab) chooseShards() {
	b.Helper()
	click := func(id string) {
		eval[bool](b, fmt.Sprintf(`document.getElementById(%q).click(), true`, id))
	}
	click("shard-after")
	b.expectShard(13, "the next shard")
	click("shard-before")
	click("shard-before")
	b.expectShard(11, "the previous shard, twice")
	eval[bool](b, `(() => {
		const n = document.getElementById("shard-number");
		n.value = "24";
		n.dispatchEvent(new Event("change"));
		return true;
	})()`)
	b.expectShard(24, "its number")
	eval[bool](b, `document.querySelector("#findings a.choose").click(), true`)
	b.expectShard(24, "the link of the first finding with a shard")
}

// useTable filters and sorts the table.
func (b *tab) useTable() {
	b.Helper()
	set := func(id, value, event string) []string {
		return eval[[]string](b, fmt.Sprintf(`(() => {
			const e = document.getElementById(%q);
			e.value = %q;
			e.dispatchEvent(new Event(%q));
			return [...document.querySelectorAll("#table-body tbody tr")].map((r) => r.cells[0].textContent);
		})()`, id, value, event))
	}
	if rows := set("table-which", "all", "change"); len(rows) != 24 || rows[0] != "7" {
		b.Errorf("the table has the shards %q, want 24, the missing one first", rows)
	}
	if rows := set("table-by", "1", "change"); rows[0] != "1" || rows[23] != "24 report" {
		b.Errorf("by number, the table has the shards %q", rows)
	}
	// How many shards are undecided is the judge's matter. Shard 2 is.
	rows := set("table-which", "undecided", "change")
	badges := eval[string](b, `[...new Set([...document.querySelectorAll("#table-body .badge")]
		.map((e) => e.textContent))].join()`)
	if len(rows) == 0 || len(rows) > 5 || rows[0] != "2" || badges != "? undecided" {
		b.Errorf("the undecided shards are %q with the badges %q, want 2 and few others", rows, badges)
	}
	set("table-which", "all", "change")
	if rows := set("table-search", "N3", "input"); len(rows) != 8 || rows[0] != "17" {
		b.Errorf("the shards of n3 are %q, want 17 to 24", rows)
	}
	set("table-search", "", "input")
	set("table-by", "0", "change")
}

// openAndReturn opens the page of shard 24 by its link, and returns by the link there.
func (b *tab) openAndReturn() {
	b.Helper()
	follow := func(link, want string) {
		b.Helper()
		b.do(chromedp.Navigate(eval[string](b, fmt.Sprintf(`document.querySelector(%q).href`, link))))
		b.waitUntilReady()
		if title := eval[string](b, `document.title`); !strings.Contains(title, want) {
			b.Errorf("%s leads to the page %q, want one of %s", link, title, want)
		}
	}
	follow("#shard-body a", "soak.log")
	links := eval[string](b, `[...document.querySelectorAll("nav.shards a")]
		.map((a) => a.textContent).join()`)
	if links != "All shards,Shard 23" {
		b.Errorf("the page of shard 24 links to %s", links)
	}
	b.accessible()
	follow("nav.shards a", "/run ")
}
