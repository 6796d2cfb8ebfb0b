package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
	"vramsoak/harness/merge"
	"vramsoak/harness/shard"
	"vramsoak/parser/record"
)

// A taskLog is the log of a shard to write. Its files take a second each.
type taskLog struct {
	node  string
	files int
	leak  int64 // bytes a file
	cut   bool  // no end of the run
}

// writeShards writes the logs of a run of as many shards as there are logs, of 40 files each. A log
// without files is left out. Shard 3 of 4 has the files 3, 7, 11 and so on.
func writeShards(t testing.TB, logs []taskLog) string {
	t.Helper()
	dir := t.TempDir()
	for i, l := range logs {
		if l.files == 0 {
			continue
		}
		folder := filepath.Join(dir, shard.Folder(i+1))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "soak.log"), l.text(i+1, len(logs)),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (l *taskLog) text(number, shards int) []byte {
	var b []byte
	line := func(rec interface{ AppendLine([]byte) []byte }) { b = append(rec.AppendLine(b), '\n') }
	now := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	head := func() record.Header { return record.Header{Time: now} }
	line(record.RunStart{
		Header: head(), Files: l.files, Feed: "list", Version: "v1", Command: "work <b>", ID: "id",
		Share: record.Share{
			Shard: number, Shards: shards, Of: shards * 40, Batch: "b1",
			Owner: record.Owner{Lease: 1, Node: l.node},
		},
	})
	for i := range l.files {
		place := number + i*shards
		path := fmt.Sprintf("%04d.wav", place)
		line(record.FileStart{Header: head(), Index: place, Path: path, AudioSeconds: 60})
		now = now.Add(time.Second)
		for _, name := range []string{"Before Work", "After Work"} {
			c := record.Checkpoint{Header: head(), Name: name}
			c.Set(record.Allocated, record.Size{Bytes: 1<<30 + int64(i)*l.leak})
			c.Set(record.Reserved, record.Size{Bytes: 4 << 30})
			c.Set(record.Total, record.Size{Bytes: 16 << 30})
			line(&c)
		}
		line(record.FileEnd{
			Header: head(), Index: place, Path: path, Status: record.StatusOK, Seconds: 1,
		})
	}
	if !l.cut {
		line(record.Exit{Header: head(), PID: 7})
		line(record.RunEnd{Header: head(), Files: l.files, Seconds: 1, Reason: "done"})
	}
	return b
}

// judgedShards judges the shards in a folder.
func judgedShards(t testing.TB, dir string, policy check.Policy) ShardedRun {
	t.Helper()
	found, err := merge.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	run, err := merge.Open(found, false)
	if err != nil {
		t.Fatal(err)
	}
	judged, err := run.Judge(policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ShardedRun{Judged: judged, Name: "nightly", Version: "v1"}
}

// shardsPage returns the page of a run of shards, and its data.
func shardsPage(t testing.TB, run ShardedRun) (page []byte, data shardsDocument) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteShards(&out, run); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), *encodeShards(&run)
}

// TestShards: of five shards on two nodes, the second leaks 4 MiB a file, the fourth was cut short,
// and the fifth never started. The page names all three, the worst first, and quotes the log of the
// leak.
func TestShards(t *testing.T) {
	t.Parallel()
	dir := writeShards(t, []taskLog{
		{node: "n10", files: 40},
		{node: "n2", files: 40, leak: 4 << 20},
		{node: "n10", files: 40},
		{node: "n2", files: 38, cut: true},
		{},
	})
	run := judgedShards(t, dir, check.DefaultPolicy())
	leaks := filepath.Join(dir, "shard-0002", "soak.log")
	run.Logs = []Log{{Name: leaks, Path: leaks}}
	run.Pages = map[int]string{2: "shard-0002/report.html"}
	page, d := shardsPage(t, run)
	lacks(t, top(t, page), "fail", "shard 5 never started", "shard 4 was cut short", "Cause",
		"2 shards", "Also", "leak 4.00 MiB/file since file 2 in shard 2 on node n2", "Shards",
		"3 of 5 complete, on 2 nodes", "Batch", "200 files",
		"work &lt;b&gt;", "2026-11-20 02:00:00 UTC")
	lacks(t, string(page), "completeness: shards", "measured <b>2 shards</b>", "leak: idle level",
		"worst in <b>shard 2 on node n2</b>", `data-shard="2">Show shard 2</a>`, "0007.wav",
		"5 shards: 1 missing, 1 fail, 1 cut short, 2 pass", "All checks")
	if bytes.Contains(page, []byte("in the chart")) {
		t.Error("the page has no chart, but a link to one")
	}
	table := map[string][]int64{
		"number": d.Shards.Number, "state": d.Shards.State, "node": d.Shards.Node,
		"files": d.Shards.Files, "cut": d.Shards.Cut,
	}
	want := map[string][]int64{
		"number": {5, 2, 4, 1, 3},
		"state":  {stateMissing, stateFail, stateCut, statePass, statePass},
		"node":   {2, 0, 0, 1, 1}, "files": {0, 40, 38, 40, 40}, "cut": {0, 0, 1, 0, 0},
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"n2", "n10", ""}, d.Nodes); diff != "" {
		t.Error(diff)
	}
	pages := []string{"", "shard-0002/report.html", "", "", ""}
	if diff := cmp.Diff(pages, d.Shards.Page); diff != "" {
		t.Error(diff)
	}
	g := d.Growth[0]
	if g.Title != "leak, idle level" || g.Unit != check.BytesPerFile ||
		math.Abs(g.Slope[1]-4<<20) > 1 || !math.IsNaN(g.Slope[0]) || g.Slope[3] != 0 ||
		!strings.Contains(g.Together, " a file (95 %: ") || g.State[1] != stateFail ||
		g.State[0] != missing {
		t.Errorf("the growth is %+v", g)
	}
}

// TestShardsWaived: a shard whose only finding the policy of the run waives does not count as one
// that fails.
func TestShardsWaived(t *testing.T) {
	t.Parallel()
	dir := writeShards(t, []taskLog{{node: "n1", files: 40, leak: 4 << 20}, {node: "n1", files: 40}})
	run := judgedShards(t, dir, policyOf(t,
		"waive:\n  - {check: leak, reason: known, until: 2027-01-31}\n"))
	page, d := shardsPage(t, run)
	lacks(t, string(page), "2 shards: 1 waived, 1 pass")
	if diff := cmp.Diff(column{stateWaived, statePass}, d.Shards.State); diff != "" {
		t.Error(diff)
	}
}

func policyOf(t *testing.T, text string) check.Policy {
	t.Helper()
	policy, err := check.ParsePolicy([]byte(text), "policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// TestShardsHostile: the name of a node, of a folder and of a command becomes neither markup nor a
// control character.
func TestShardsHostile(t *testing.T) {
	t.Parallel()
	const evil = "</script><script>alert(1)</script>\x1b[2J\u202e"
	run := judgedShards(t, writeShards(t, []taskLog{{node: "n1", files: 40, leak: 4 << 20}}),
		check.DefaultPolicy())
	run.Name, run.Start.Command = evil, evil
	s := &run.Shards[0]
	s.Node, s.Name, s.Open[0].Message = evil, evil, evil
	page, d := shardsPage(t, run)
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{page, dataOf(t, page), data} {
		if bytes.ContainsAny(text, "\x1b\u202e") {
			t.Error("a control character is on the page")
		}
	}
	if bytes.Contains(page, []byte("<script>alert")) {
		t.Error("a name became markup")
	}
}

// TestManyShards: the page of 10,000 shards that all differ is at most 3 MB, and that of 30,000 is
// no larger: it shows the worst.
func TestManyShards(t *testing.T) {
	t.Parallel()
	small := judgedShards(t, writeShards(t, []taskLog{
		{node: "n1", files: 40, leak: 4 << 20}, {node: "n2", files: 40},
	}), check.DefaultPolicy())
	sizes := map[int]int{}
	for _, n := range []int{10_000, 30_000} {
		run := small
		judged := *small.Judged
		run.Judged = &judged
		judged.Shards = make([]merge.State, n)
		run.Pages = map[int]string{}
		for i := range n {
			s := small.Shards[i%2]
			s.Number, s.Node, s.Name = i+1, fmt.Sprintf("node-%d", i/8), shard.Folder(i+1)
			s.Seconds, s.Peak = float64(i%977)*1.37, int64(i)*1234577%(16<<30)
			s.Growths = slices.Clone(s.Growths)
			for k := range s.Growths {
				s.Growths[k].Slope += float64(i*k%7919) * 12.345
				s.Growths[k].Error = float64(i*k%7907) * 1.2345
			}
			judged.Shards[i] = s
			run.Pages[i+1] = shard.Folder(i+1) + "/report.html"
		}
		page, d := shardsPage(t, run)
		sizes[n] = len(page)
		if len(d.Shards.Number) != shardsMax || len(page) > 3e6 {
			t.Errorf("the page of %d shards has %d bytes and shows %d", n, len(page),
				len(d.Shards.Number))
		}
		if n > shardsMax {
			lacks(t, string(page), "show the worst 10,000 of 30,000 shards")
			if slices.ContainsFunc(d.Shards.State, func(s int64) bool { return s != stateFail }) {
				t.Error("the page leaves out a shard that fails, and shows one that passes")
			}
		}
	}
	t.Log("bytes by shards:", sizes)
}

// TestOneShard: the page of a shard links to those of the run and of its neighbours, if it is
// beside them.
func TestOneShard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of   OneShard
		want []pageLink
	}{
		{OneShard{Number: 2, Of: 3}, nil},
		{OneShard{Number: 1, Of: 1, Linked: true}, []pageLink{{"../report.html", "All shards"}}},
		{OneShard{Number: 2, Of: 3, Linked: true}, []pageLink{
			{"../report.html", "All shards"},
			{"../shard-0001/report.html", "Shard 1"},
			{"../shard-0003/report.html", "Shard 3"},
		}},
	} {
		if diff := cmp.Diff(tt.want, tt.of.links()); diff != "" {
			t.Errorf("%+v: %s", tt.of, diff)
		}
	}
	log := taskLog{node: "n<i>1", files: 3}
	p := judged(t, bytes.NewReader(log.text(2, 3)), "soak.log")
	p.Shard = &OneShard{Number: 2, Of: 3, Node: "n<i>1", Linked: true}
	lacks(t, string(written(t, p)), `<a href="../report.html">All shards</a>`,
		`<a href="../shard-0003/report.html">Shard 3</a>`,
		"<dt>Shard</dt><dd>2 of 3, on node n&lt;i&gt;1")
}

// TestNatural: numbers in the names of nodes count as numbers.
func TestNatural(t *testing.T) {
	names := []string{"n10", "n2", "b", "n2a", "n002", "a9-1", "a10", "a9"}
	slices.SortStableFunc(names, compareNatural)
	want := []string{"a9", "a9-1", "a10", "b", "n2", "n002", "n2a", "n10"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}
