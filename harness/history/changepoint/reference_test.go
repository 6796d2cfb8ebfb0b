package changepoint_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reference returns the folder with the checkouts of other projects, and skips the test if none is
// given. See `make bench-reference`.
func reference(t *testing.T, project, needed string) string {
	t.Helper()
	root := os.Getenv("VRAMSOAK_REFERENCE")
	if root == "" {
		t.Skip("NOT RUN: VRAMSOAK_REFERENCE names no folder with labelled series")
	}
	dir := filepath.Join(root, project)
	if _, err := os.Stat(filepath.Join(dir, needed)); err != nil {
		t.Skipf("NOT RUN: expected %s/%s: %v", dir, needed, err)
	}
	return dir
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// find judges a series as `vramsoak history` does by default.
// TestTuring compares the changes with those that people marked in the Turing Change Point Dataset
// (van den Burg and Williams 2020, "An evaluation of change point detection algorithms",
// arXiv:2003.06222).
func TestTuring(t *testing.T) {
	dir := reference(t, "TCPD", "annotations.json")
	var marked map[string]map[string][]int
	readJSON(t, filepath.Join(dir, "annotations.json"), &marked)
	var names []string
	for name := range marked {
		names = append(names, name)
	}
	slices.Sort(names)
	t.Logf("| series | values | changes | F1 | cover |")
	count, f1, cover, none, alarms := 0.0, 0.0, 0.0, 0, 0
	for _, name := range names {
		path := filepath.Join(dir, "datasets", name, name+".json")
		if _, err := os.Stat(path); err != nil {
			t.Logf("| %s | NOT RUN: the dataset has only a script that downloads it |", name)
			continue
		}
		var data struct{ Series []struct{ Raw []*float64 } }
		readJSON(t, path, &data)
		if len(data.Series) != 1 || slices.Contains(data.Series[0].Raw, nil) {
			t.Logf("| %s | NOT RUN: more than one dimension, or values are missing |", name)
			continue
		}
		var values []float64
		for _, v := range data.Series[0].Raw {
			values = append(values, *v)
		}
		found := find(values, 0, 0.001)
		var people [][]int
		clean := true
		for _, p := range marked[name] {
			people = append(people, p)
			clean = clean && len(p) == 0
		}
		if clean {
			none++
			alarms += len(found)
		}
		f, c := fMeasure(people, found), covering(people, found, len(values))
		t.Logf("| %s | %d | %v | %.2f | %.2f |", name, len(values), found, f, c)
		count, f1, cover = count+1, f1+f, cover+c
	}
	t.Logf("%g series: F1 %.3f, cover %.3f; %d alarms in %d series in which nobody marked a change",
		count, f1/count, cover/count, alarms, none)
	if f1/count < 0.74 || cover/count < 0.70 {
		t.Errorf("F1 %.3f and cover %.3f, want 0.74 and 0.70", f1/count, cover/count)
	}
}

// margin is by how many values a change may be off, in the paper's F1.
const margin = 5

// hits returns how many of the marked changes were found. Each found change counts once.
func hits(marked, found []int) (n int) {
	left := slices.Clone(found)
	for _, m := range marked {
		closest := -1
		for i, f := range left {
			if away := max(m-f, f-m); away <= margin &&
				(closest < 0 || away < max(m-left[closest], left[closest]-m)) {
				closest = i
			}
		}
		if closest >= 0 {
			n++
			left = slices.Delete(left, closest, closest+1)
		}
	}
	return n
}

// withStart adds the index 0, which the paper counts as a change that everybody finds.
func withStart(changes []int) []int {
	out := append([]int{0}, changes...)
	slices.Sort(out)
	return slices.Compact(out)
}

// fMeasure is the paper's F1: precision against the changes that any person marked, recall averaged
// over the people.
func fMeasure(people [][]int, found []int) float64 {
	x := withStart(found)
	var all []int
	recall := 0.0
	for _, p := range people {
		all = append(all, p...)
		own := withStart(p)
		recall += float64(hits(own, x)) / float64(len(own)) / float64(len(people))
	}
	precision := float64(hits(withStart(all), x)) / float64(len(x))
	return 2 * precision * recall / (precision + recall)
}

// covering is the paper's cover: how well the levels that people marked overlap with those found.
func covering(people [][]int, found []int, n int) (total float64) {
	levels := append(withStart(found), n)
	for _, p := range people {
		own := append(withStart(p), n)
		for i := range len(own) - 1 {
			best := 0.0
			for k := range len(levels) - 1 {
				both := min(own[i+1], levels[k+1]) - max(own[i], levels[k])
				either := max(own[i+1], levels[k+1]) - min(own[i], levels[k])
				best = max(best, float64(both)/float64(either))
			}
			total += best * float64(own[i+1]-own[i]) / float64(n) / float64(len(people))
		}
	}
	return total
}

// TestMongoDB judges the series of MongoDB's signal processing algorithms. Their tests expect a
// number of changes.
func TestMongoDB(t *testing.T) {
	dir := reference(t, "signal-processing-algorithms", "tests/data/long_series.json")
	data := filepath.Join(dir, "tests", "data")
	t.Logf("| series | values | expected by its tests | found | at |")
	for _, name := range []string{"short", "small", "medium", "large", "very_large", "huge"} {
		var s struct {
			Series   []float64
			Expected int
		}
		readJSON(t, filepath.Join(data, "profiling", name+".json"), &s)
		compareCount(t, name, s.Series, s.Expected)
	}
	var long []float64
	readJSON(t, filepath.Join(data, "long_series.json"), &long)
	compareCount(t, "long_series", long, 4)
}

func compareCount(t *testing.T, name string, values []float64, expected int) {
	t.Helper()
	found := find(values, 0, 0.001)
	t.Logf("| %s | %d | %d | %d | %v |", name, len(values), expected, len(found), found)
	if len(found) < expected {
		t.Errorf("%s: %d changes, want at least %d", name, len(found), expected)
	}
}

// TestOtava judges the series of Apache Otava's tests. Each has the changes that its tests expect.
func TestOtava(t *testing.T) {
	dir := filepath.Join(reference(t, "otava", "tests/series_test.py"), "tests")
	source := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	// Series so short that no change in them is certain: docs/explanation/change-points.md.
	missed := []string{"division by zero", "sample.csv metric2"}
	t.Logf("| series | values | expected by its tests | found |")
	judge := func(name string, values []float64, expected ...int) {
		found := find(values, 0, 0.001)
		t.Logf("| %s | %d | %v | %v |", name, len(values), expected, found)
		for _, e := range expected {
			if !slices.ContainsFunc(found, func(f int) bool { return max(e-f, f-e) <= 1 }) {
				if slices.Contains(missed, name) {
					t.Logf("%s: the change at %d is not found", name, e)
				} else {
					t.Errorf("%s: the change at %d is not found", name, e)
				}
			}
		}
	}
	series := source("series_test.py")
	judge("series_1", list(t, series, `series_1 = \[`), 6)
	judge("series_2", list(t, series, `series_2 = \[`), 4)
	judge("division by zero", list(t, series, `series_1 = \[(?:0\.0)`), 3, 6)
	judge("single series", list(t, source("analysis_test.py"), `series = \[\s`), 10)
	judge("sequence", list(t, source("change_point_divisive_test.py"), `np\.array\(\[`), 5, 8)
	judge("TigerBeetle, changes of 5 %", list(t, source("tigerbeetle_test.py"), `return \[`), 15, 71)
	rows, err := csv.NewReader(strings.NewReader(source("resources/sample.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for column, expected := range map[int][]int{2: nil, 3: {6}} {
		var values []float64
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		judge("sample.csv "+rows[0][column], values, expected...)
	}
}

// list returns the numbers of the first list in a Python source that begins with a pattern.
func list(t *testing.T, source, begin string) (out []float64) {
	t.Helper()
	at := regexp.MustCompile(begin).FindStringIndex(source)
	if at == nil {
		t.Fatalf("the source has no list %q", begin)
	}
	open := at[0] + strings.IndexByte(source[at[0]:], '[') + 1
	body, _, _ := strings.Cut(source[open:], "]")
	separator := func(r rune) bool { return strings.ContainsRune(", \n", r) }
	for field := range strings.FieldsFuncSeq(body, separator) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || math.IsNaN(v) {
			t.Fatalf("expected a number, found %q", field)
		}
		out = append(out, v)
	}
	return out
}
