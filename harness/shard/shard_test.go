package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"vramsoak/harness/queue"
)

func TestAuto(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, env string
		want      string // or a part of the error
	}{
		{"array", "SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 " +
			"SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=8", "3/8"},
		{"array from 0", "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 " +
			"SLURM_ARRAY_TASK_COUNT=8", "1/8"},
		{"array with a step", "SLURM_ARRAY_TASK_ID=14 SLURM_ARRAY_TASK_MIN=10 " +
			"SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=8", "3/8"},
		{"array that is a list", "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1 " +
			"SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=3", "--array=1-3"},
		{"first of a list", "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=9 " +
			"SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=3", "--array=1-3"},
		{"array wins over its step's tasks", "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 " +
			"SLURM_ARRAY_TASK_COUNT=4 SLURM_PROCID=0 SLURM_NTASKS=2", "2/4"},
		{"step", "SLURM_PROCID=0 SLURM_NTASKS=2", "1/2"},
		{"step smaller than its job", "SLURM_PROCID=1 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=2", "2/2"},
		{"one task is no share", "SLURM_PROCID=0 SLURM_NTASKS=1", "found none"},
		{"one task in a job of Kubernetes", "SLURM_PROCID=0 SLURM_NTASKS=1 JOB_COMPLETION_INDEX=4 " +
			"JOB_COMPLETIONS=5", "5/5"},
		{"job without completions", "JOB_COMPLETION_INDEX=4", "JOB_COMPLETIONS: expected a whole " +
			"number from 1, found nothing"},
		{"index too large", "JOB_COMPLETION_INDEX=5 JOB_COMPLETIONS=5", "is not below"},
		{"GitLab", "CI_NODE_INDEX=1 CI_NODE_TOTAL=5", "1/5"},
		{"GitLab, wrong", "CI_NODE_INDEX=x CI_NODE_TOTAL=5", `found "x"`},
		{"empty", "CI_NODE_INDEX=", "found none"},
	}
	for _, test := range tests {
		env := map[string]string{}
		for word := range strings.FieldsSeq(test.env) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		share, err := Auto(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		got := share.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%s: %s, expected %s", test.name, got, test.want)
		}
		if err == nil && !strings.Contains(test.env, strings.Split(share.From, ",")[0]) {
			t.Errorf("%s: taken from %q", test.name, share.From)
		}
	}
}

// TestAutoSaysFrom: a share names each variable that it comes from, once, and no other.
func TestAutoSaysFrom(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"SLURM_PROCID=0 SLURM_NTASKS=2": "SLURM_PROCID=0, SLURM_NTASKS=2",
		"SLURM_PROCID=0 SLURM_NTASKS=1 JOB_COMPLETION_INDEX=4 JOB_COMPLETIONS=5": "" +
			"JOB_COMPLETION_INDEX=4, JOB_COMPLETIONS=5",
		"SLURM_PROCID=0 CI_NODE_INDEX=1 CI_NODE_TOTAL=5": "CI_NODE_INDEX=1, CI_NODE_TOTAL=5",
	} {
		share, err := Auto(func(name string) (string, bool) {
			_, value, set := strings.Cut(" "+env, " "+name+"=")
			value, _, _ = strings.Cut(value, " ")
			return value, set
		})
		if err != nil || share.From != want {
			t.Errorf("%s: taken from %q, %v; expected %q", env, share.From, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"1/1", "3/8", "100000/100000"} {
		if s, err := Parse(ok); err != nil || s.String() != ok {
			t.Errorf("%s: %v, %v", ok, s, err)
		}
	}
	for _, wrong := range []string{
		"", "3", "0/8", "9/8", "3/", "/8", "-1/8", "a/b", "1/100001", "1/2/3",
	} {
		if s, err := Parse(wrong); err == nil {
			t.Errorf("%s: no error, but %v", wrong, s)
		}
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9999, 10000, Max} {
		if got, ok := Of(Folder(n)); !ok || got != n {
			t.Errorf("%s: %d, %v", Folder(n), got, ok)
		}
	}
	for _, name := range []string{
		"shard-3", "shard-00003", "shard-0000", "gpu-0003", "shard-", "shard-000a",
	} {
		if n, ok := Of(name); ok {
			t.Errorf("%s: taken for shard %d", name, n)
		}
	}
}

// TestSplit: every file is in one share, and the shares are balanced.
func TestSplit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for _, test := range []struct {
		files, shards int
		length        func(i int) float64
	}{
		{60, 8, func(int) float64 { return 0 }},
		{60, 8, func(int) float64 { return 10 }},
		{1000, 7, func(int) float64 { return random.ExpFloat64() * 600 }},
		{1000, 7, func(i int) float64 { return float64(i) }}, // sorted by length
		{1000, 16, func(i int) float64 { return float64(i%3) * 7 }},
		{3, 8, func(int) float64 { return 5 }},
	} {
		var files []queue.Input
		total, longest := 0.0, 0.0
		for i := range test.files {
			f := queue.Input{Path: fmt.Sprint(i), AudioSeconds: test.length(i)}
			files = append(files, f)
			total += f.AudioSeconds
			longest = max(longest, f.AudioSeconds)
		}
		shares := Split(files, test.shards)
		if again := Split(files, test.shards); !slices.EqualFunc(shares, again, slices.Equal) {
			t.Errorf("%d files: two calls give two divisions", test.files)
		}
		seen := make([]bool, test.files)
		least, most := test.files, 0
		for _, share := range shares {
			sum := 0.0
			for _, i := range share {
				if seen[i] {
					t.Errorf("file %d is in two shares", i)
				}
				seen[i] = true
				sum += files[i].AudioSeconds
			}
			if !slices.IsSorted(share) {
				t.Errorf("a share is not in the order of the batch: %v", share)
			}
			least, most = min(least, len(share)), max(most, len(share))
			// List scheduling: no share exceeds the mean by more than one file.
			if sum > total/float64(test.shards)+longest+0.01*float64(test.files) {
				t.Errorf("a share of %g seconds; the mean is %g, the longest file %g", sum,
					total/float64(test.shards), longest)
			}
		}
		if slices.Contains(seen, false) {
			t.Errorf("%d files, %d shards: a file is in no share", test.files, test.shards)
		}
		if test.length(1) == test.length(2) && most-least > 1 {
			t.Errorf("files of one length: shares of %d to %d files", least, most)
		}
	}
}

// TestDigest: every change of a plan changes its digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	plan := func(change func(p *Plan)) string {
		p := Plan{Shards: 2, Repeat: 1, Files: []queue.Input{{Path: "a", AudioSeconds: 1}, {Path: "b"}}}
		change(&p)
		return p.Digest()
	}
	seen := map[string]int{}
	for i, change := range []func(p *Plan){
		func(*Plan) {},
		func(p *Plan) { p.Shards = 3 },
		func(p *Plan) { p.Repeat = 2 },
		func(p *Plan) { p.Until = 60 },
		func(p *Plan) { p.Shuffle = new(uint64) },
		func(p *Plan) { p.Files[0].Path = "c" },
		func(p *Plan) { p.Files[0].AudioSeconds = 2 },
		func(p *Plan) { p.Files[0], p.Files[1] = p.Files[1], p.Files[0] },
		func(p *Plan) { p.Files = p.Files[:1] },
		func(p *Plan) { p.Files = []queue.Input{{Path: "a\n0 \"b\"", AudioSeconds: 1}} },
	} {
		digest := plan(change)
		if other, known := seen[digest]; known || len(digest) != 32 {
			t.Errorf("plans %d and %d: digest %s", i, other, digest)
		}
		seen[digest] = i
	}
	if first, again := plan(func(*Plan) {}), plan(func(*Plan) {}); first != again {
		t.Errorf("two calls give two digests: %s, %s", first, again)
	}
}
