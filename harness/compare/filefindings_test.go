package compare_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/check"
	"vramsoak/harness/compare"
)

// withFailed returns a run of files with the same measurements. A path that ends with ! is a file
// that failed; the path "" is a file without a name.
func withFailed(paths ...string) *compare.Baseline {
	m := check.Measurements{Metrics: []check.Metric{peak}}
	for i, path := range paths {
		path, failed := strings.CutSuffix(path, "!")
		f := check.MeasuredFile{Path: path, Index: i + 1}
		if failed {
			m.Failed = append(m.Failed, f)
			continue
		}
		m.Files = append(m.Files, f)
		m.Metrics[0].Values = append(m.Metrics[0].Values, 1<<30)
	}
	return compare.New(m, compare.RunInfo{})
}

// files returns the paths of 0.wav to 19.wav in a folder: enough files for a verdict. The names in
// last replace the last ones.
func files(dir string, last ...string) []string {
	var all []string
	for i := range 20 - len(last) {
		all = append(all, fmt.Sprintf("%s/%d.wav", dir, i))
	}
	return append(all, last...)
}

// TestFileFindings compares runs that use equal memory, so that only the files decide.
func TestFileFindings(t *testing.T) {
	t.Parallel()
	unnamed := make([]string, 20)
	for _, tt := range []struct {
		name      string
		base, new []string
		want      string // check, verdict and the start of the message; "" if all pass
	}{
		{"the same", files("a"), files("a"), ""},
		{
			"a file fails", files("a", "a/x.wav"), files("a", "a/x.wav!"),
			"fail failed files: 1 file failed that ended ok in the base: file 20 (x.wav); see why",
		},
		{
			"seven fail", files("a"), slices.Concat(files("a")[:13], failing(files("a")[13:])),
			"fail failed files: 7 files failed that ended ok in the base: file 14 (13.wav), file 15 " +
				"(14.wav), " +
				"file 16 (15.wav), file 17 (16.wav), file 18 (17.wav), and 2 more; see why",
		},
		{
			"it fails in a batch that has moved", files("a", "a/x.wav"), files("/mnt/b", "/mnt/b/x.wav!"),
			"fail failed files: 1 file failed",
		},
		{"it failed before", files("a", "a/x.wav!"), files("a", "a/x.wav!"), ""},
		{"it ends well now", files("a", "a/x.wav!"), files("a", "a/x.wav"), ""},
		{"a new file fails", files("a"), append(files("a"), "a/new.wav!"), ""},
		{
			"once of two times", files("a", "x", "x"), files("a", "x!", "x"),
			"fail failed files: 1 file failed",
		},
		{"once of two times in both", files("a", "x", "x!"), files("a", "x!", "x"), ""},
		{"in one round more", files("a", "x"), files("a", "x", "x!"), "fail failed files: 1 file failed"},
		{"in one round more, and in the base", files("a", "x", "x!"), files("a", "x", "x!", "x!"), ""},
		{
			"in one round more, of a batch that has moved", files("a", "a/x.wav"),
			files("/mnt/b", "/mnt/b/x.wav", "/mnt/b/x.wav!"), "fail failed files: 1 file failed",
		},
		{
			"of a batch that has moved on Windows", files("a", `C:\a\x.wav`), files("a", `D:\b\a\x.wav!`),
			"fail failed files: 1 file failed",
		},
		{
			"without names", unnamed, append(slices.Clone(unnamed[:19]), "!"),
			"fail failed files: 1 file failed that ended ok in the base: file 20;",
		},
		{"without names, another number", unnamed, append(slices.Clone(unnamed), "!"), ""},
		{
			"all fail", files("a"), failing(files("a")),
			"fail failed files: 20 files failed",
		},
		{
			"another batch", files("a"), renamed(files("a")),
			"undecided files: the runs have no file in common (the base has a/0.wav, the new run " +
				"other/a-0.wav), and other " +
				"files may take other memory; compare runs over the same files",
		},
		{"one file in common", files("a", "x"), append(renamed(files("a")[:19]), "b/x"), ""},
		{"one that failed in both", files("a", "x!"), append(renamed(files("a")[:19]), "x!"), ""},
		{"names in one run only", files("a"), unnamed, ""},
		{"no file ended in the new run", files("a"), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := compare.Runs(withFailed(tt.base...), withFailed(tt.new...), check.DefaultPolicy())
			var got []string
			for _, f := range c.FileFindings("") {
				got = append(got, fmt.Sprintf("%s %s: %s", f.Verdict, f.Subject, f.Message))
			}
			if text := strings.Join(got, "\n"); !strings.HasPrefix(text, tt.want) || tt.want == "" &&
				text != "" {
				t.Errorf("got %q, expected %q", text, tt.want)
			}
			report := check.Report{Policy: check.DefaultPolicy()}
			report.Join(c.Findings("")...)
			if tt.want != "" && !strings.HasPrefix(tt.want, string(report.Verdict)) {
				t.Errorf("the verdict is %s, expected that of %q", report.Verdict, tt.want)
			}
		})
	}
}

func failing(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, p+"!")
	}
	return all
}

func renamed(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, "other/"+strings.ReplaceAll(p, "/", "-"))
	}
	return all
}

// TestFailedFilesAreSaved: a baseline keeps which files failed, so that a comparison of two saved
// baselines finds newly failed files.
func TestFailedFilesAreSaved(t *testing.T) {
	t.Parallel()
	again := func(b *compare.Baseline) *compare.Baseline {
		var out bytes.Buffer
		if err := b.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		b, err := compare.ReadBaseline(&out, "b.json")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	base, now := again(withFailed(files("a", "x")...)), again(withFailed(files("a", "x!")...))
	c := compare.Runs(base, now, check.DefaultPolicy())
	if len(c.NewlyFailed) != 1 || c.NewlyFailed[0].Path != "x" || c.NewlyFailed[0].Index != 20 {
		t.Errorf("newly failed %+v, expected file 20, x", c.NewlyFailed)
	}
}
