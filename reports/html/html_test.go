package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/tools/txtar"

	"vramsoak/fixtures/golden"
	"vramsoak/fixtures/timelines"
	"vramsoak/harness/check"
	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/parser/timeline"
)

// judged reads a log, judges it, and collects its readings.
func judged(t testing.TB, log io.Reader, name string) Page {
	t.Helper()
	b := parser.Builder{}
	j := check.New(check.DefaultPolicy())
	j.Trends = true
	c := NewCollector()
	b.Done = func(f *timeline.File) { c.Add(f, j.Add(f)) }
	if err := b.Read(log, name); err != nil {
		t.Fatal(err)
	}
	tl := b.Timeline()
	return Page{Timeline: tl, Report: j.Report(tl), Collected: c, Version: "v1"}
}

// written returns the page as bytes.
func written(t testing.TB, p Page) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// dataOf returns the JSON that a page carries.
func dataOf(t testing.TB, page []byte) []byte {
	t.Helper()
	_, rest, _ := bytes.Cut(page, []byte(`id="data">`))
	text, _, found := bytes.Cut(rest, []byte("</script>"))
	if !found {
		t.Fatal("the page has no data")
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mainOf returns the part of a page that a reader sees without its script.
func mainOf(t testing.TB, page []byte) []byte {
	t.Helper()
	_, rest, _ := bytes.Cut(page, []byte("<main"))
	text, _, found := bytes.Cut(rest, []byte(`<section id="charts"`))
	if !found {
		t.Fatal("the page has no charts")
	}
	return append([]byte("<main"), text...)
}

// TestGoldens: the words and the data of a page.
func TestGoldens(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, c golden.Case) {
		path := filepath.Join(t.TempDir(), "run.log")
		if err := os.WriteFile(path, c.Part("run.log"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := judged(t, bytes.NewReader(c.Part("run.log")), "run.log")
		p.Logs = []Log{{Name: "run.log", Path: path}}
		page := written(t, p)
		if again := written(t, judgedAgain(t, c, path)); !bytes.Equal(page, again) {
			t.Error("the same log gives two different pages")
		}
		var data bytes.Buffer
		if err := json.Indent(&data, dataOf(t, page), "", " "); err != nil {
			t.Fatal(err)
		}
		// An array of numbers takes one line, so that a difference can be read.
		flat := regexp.MustCompile(`\[[-\d,\s"a-z]*\]`).ReplaceAllFunc(data.Bytes(),
			func(list []byte) []byte {
				return bytes.Join(bytes.Fields(list), []byte(" "))
			})
		c.Compare(
			txtar.File{Name: "main.html", Data: append(mainOf(t, page), '\n')},
			txtar.File{Name: "data.json", Data: flat},
		)
	})
}

func judgedAgain(t *testing.T, c golden.Case, path string) Page {
	p := judged(t, bytes.NewReader(c.Part("run.log")), "run.log")
	p.Logs = []Log{{Name: "run.log", Path: path}}
	return p
}

// TestLeakAnswers: the top of the page says what the log of leak-until-out-of-memory shows. Each
// file adds 0.5 GiB, which is 512 MiB, in Transcription; file 12 fails.
func TestLeakAnswers(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/leak-until-out-of-memory.txtar")
	if err != nil {
		t.Fatal(err)
	}
	page := string(written(t, judged(t, bytes.NewReader(archive.Files[0].Data), "run.log")))
	top, _, _ := strings.Cut(page, `<section id="findings"`)
	for _, want := range []string{
		"Transcription", "512 MiB a file", "file 1: talk-001.wav",
		"1 of 12 files did not end ok", "file 12: talk-012.wav", "What to do next",
	} {
		if !strings.Contains(top, want) {
			t.Errorf("the top of the page lacks %q", want)
		}
	}
}

// hostileNames are names that a page could take for markup, script or a change of direction.
var hostileNames = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(2)>`, `'onmouseover='alert(3)`,
	"\u2028alert(4)\u2029", "\u202etxt.exe", "<!--", "]]>", "{{.}}", "\x1b[31m", "&lt;b&gt;", "`${1}`",
	"__proto__", "constructor",
}

// TestHostileNames: names from a log are text, wherever the page shows them.
func TestHostileNames(t *testing.T) {
	var log strings.Builder
	for i := range 12 {
		for _, name := range hostileNames {
			fmt.Fprintf(&log, "[pipeline] file-start path=%q\n", name+".wav")
			for _, word := range []string{"Before ", "After "} {
				fmt.Fprintf(&log, "[GPU Memory] %s%s Cleanup: Allocated: %d.00GB | Reserved: 90.00GB\n",
					word, name, i+1)
			}
			fmt.Fprintf(&log, "[pipeline] file-end path=%q status=failed error=%q\n", name+".wav", name)
		}
	}
	tl, rep := timelines.Hostile()
	c := NewCollector()
	for f := range tl.InOrder() {
		c.Add(f, nil)
	}
	for _, p := range []Page{
		judged(t, strings.NewReader(log.String()), "<i>run.log"),
		{Timeline: tl, Report: rep, Collected: c, Version: timelines.HostileText},
	} {
		page := string(written(t, p))
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("the page has %d scripts, want the data and its own", n)
		}
		before, after, _ := strings.Cut(page, "<style>")
		_, body, _ := strings.Cut(after, "</style>")
		body, _, _ = strings.Cut(body, "<script>")
		text := before + body + string(dataOf(t, []byte(page)))
		for _, bad := range []string{"<img", "onerror=alert(2)>", "<i>"} {
			if strings.Contains(before+body, bad) {
				t.Errorf("the page has %q as markup", bad)
			}
		}
		for _, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
				t.Errorf("the page has the character %U", r)
			}
		}
	}
}

// TestPolicy: the digests in the content security policy are those of the page's style and script,
// and the policy allows nothing else.
func TestPolicy(t *testing.T) {
	page := string(written(t, judged(t, strings.NewReader(
		"[GPU Memory] A: Allocated: 1.00GB\n"), "run.log")))
	between := func(open, end string) string {
		_, rest, _ := strings.Cut(page, open)
		text, _, _ := strings.Cut(rest, end)
		return text
	}
	policy := strings.ReplaceAll(between(`http-equiv="Content-Security-Policy" content="`, `"`),
		"&#39;", "'")
	policy = strings.ReplaceAll(policy, "&#43;", "+")
	want := "default-src 'none'; script-src " + digest(between("<script>", "</script>")) +
		"; style-src " + digest(between("<style>", "</style>")) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("got the policy\n%s, want\n%s", policy, want)
	}
	for _, outside := range []string{`src="http`, `href="http`, "url(", "@import"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page refers to something outside of it: %s", outside)
		}
	}
}

// batch adds files to a collector, each with a number of checkpoints. The level of the last
// checkpoint of one file is far below all others, and that of another far above.
func batch(files, checkpoints int) Page {
	c := NewCollector()
	random := rand.New(rand.NewPCG(1, 2))
	tl := &timeline.Timeline{Checkpoints: files * checkpoints}
	line := 0
	now := timelines.Start
	for i := range files {
		f := &timeline.File{
			Index: i + 1, Path: fmt.Sprintf("audio/talk-%06d.wav", i+1), Status: record.StatusOK,
			Seconds: 19, Start: now, Pos: record.Position{Path: "run.log", Line: line + 1},
		}
		for k := range checkpoints {
			line++
			now = now.Add(time.Duration(900+random.IntN(200)) * time.Millisecond)
			at := record.Checkpoint{Name: fmt.Sprintf("Step %d", k)}
			at.Pos, at.Time = record.Position{Path: "run.log", Line: line}, now
			level := 512 * int64(2_000_000+random.IntN(1_000_000)+100_000*k)
			switch {
			case i == files/3 && k == 2:
				level = lowest
			case i == files/2 && k == 3:
				level = most
			}
			at.Set(record.Allocated, record.Exact(level))
			at.Set(record.Reserved, record.Exact(level+512*int64(random.IntN(100_000))))
			at.Set(record.Total, record.Exact(24*record.GiB))
			f.Checkpoints = append(f.Checkpoints, at)
		}
		f.EndPos, f.End = record.Position{Path: "run.log", Line: line}, now
		tl.Files = append(tl.Files, f)
		c.Add(f, nil)
		f.Checkpoints = nil
	}
	rep := &check.Report{Verdict: check.Pass, Files: files, Checkpoints: tl.Checkpoints}
	return Page{Timeline: tl, Report: rep, Collected: c}
}

const (
	lowest = 512
	most   = 20 * record.GiB
)

// TestSizes: a page of a night can be sent by mail, and a page of a long soak can still be opened.
// Levels here differ by chance in every digit, which compresses worse than those of real runs.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		files, checkpoints, max int
		thinned                 bool
	}{
		{60, 19, 500_000, false},
		{5000, 19, 4_000_000, false},
		{100_000, 5, 8_000_000, true},
	} {
		t.Run(fmt.Sprint(c.files), func(t *testing.T) {
			p := batch(c.files, c.checkpoints)
			page := written(t, p)
			if len(page) > c.max {
				t.Errorf("the page has %d bytes, want at most %d", len(page), c.max)
			}
			var d struct {
				Tracks []struct {
					All, AllFiles int
					Points        struct {
						Number []int64
						Values map[string][]int64
					}
					Rows struct {
						File    []int64
						Highest map[string][]int64
					}
				}
			}
			if err := json.Unmarshal(dataOf(t, page), &d); err != nil {
				t.Fatal(err)
			}
			track := d.Tracks[0]
			if track.All != c.files*c.checkpoints || track.AllFiles != c.files {
				t.Errorf("the page says that the log has %d checkpoints and %d files", track.All,
					track.AllFiles)
			}
			points, rows := len(track.Points.Number), len(track.Rows.File)
			if all := points == track.All && rows == track.AllFiles; all == c.thinned {
				t.Errorf("the page holds %d of %d checkpoints, %d of %d files", points, track.All, rows,
					track.AllFiles)
			}
			if points > pointsMax || rows > rowsMax {
				t.Errorf("the page holds %d checkpoints and %d files", points, rows)
			}
			// A thinned page shows each part of the log, and not only its end. The differences between
			// the numbers of neighbours are what a column holds.
			if gap := slices.Max(track.Points.Number); gap > int64(1+track.All/1000) {
				t.Errorf("the page holds none of %d consecutive checkpoints", gap-1)
			}
			if gap := slices.Max(track.Rows.File); gap > int64(1+track.AllFiles/1000) {
				t.Errorf("the page holds none of %d consecutive files", gap-1)
			}
			low, high := extremes(track.Points.Values["allocated"])
			_, highest := extremes(track.Rows.Highest["allocated"])
			if low != lowest || high != most || highest != most {
				t.Errorf("the readings go from %d to %d, the files up to %d", low, high, highest)
			}
		})
	}
}

// extremes returns the lowest and the highest value of a column of differences.
func extremes(deltas []int64) (low, high int64) {
	value := int64(0)
	for i, d := range deltas {
		value += d
		if i == 0 {
			low, high = value, value
		}
		low, high = min(low, value), max(high, value)
	}
	return low, high
}

func BenchmarkWrite(b *testing.B) {
	p := batch(5000, 19)
	for b.Loop() {
		if err := Write(io.Discard, p); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEveryLog writes a page of each log in fixtures/check.
func TestEveryLog(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/check/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	dir := os.Getenv("PAGES") // keeps the pages, for a browser
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".log") {
				continue
			}
			page := written(t, judged(t, bytes.NewReader(f.Data), f.Name))
			if !json.Valid(dataOf(t, page)) {
				t.Errorf("%s: the data of the page are no JSON", path)
			}
			if dir != "" {
				name := strings.TrimSuffix(filepath.Base(path), ".txtar") + "-" + f.Name + ".html"
				if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
