package merge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramsoak/harness/check"
)

// TestRefused: shards that are not of the same run as most are refused by name.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(s *testShard)
		want   string
	}{
		{"batch", func(s *testShard) { s.batch = "b2" }, "of the batch b1 with 60 files; found " +
			"one of the batch b2 with 60 files"},
		{"files", func(s *testShard) { s.of = 61 }, "found one of the batch b1 with 61 files"},
		{"shards", func(s *testShard) { s.shards = 5 }, "of 4 shards; found one of 5"},
		{"run", func(s *testShard) { s.run = "yesterday" }, `with the name "today"; found one of ` +
			`the run "yesterday"`},
		{"version", func(s *testShard) { s.version = "v2" }, "by version v1 of vramsoak; found " +
			"version v2"},
		{"policy", func(s *testShard) { s.policy = "gate: [leak]\n" }, "with the same policy; found " +
			"another policy"},
	} {
		shards := newShards(4, 60)
		c.change(&shards[0]) // the others are the majority
		_, err := judgeBy(check.DefaultPolicy(), write(t, shards))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "shard-0001: expected a shard of the same run as ") {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// TestAnyPolicy: with a policy that the user names, shards of different policies are one run.
func TestAnyPolicy(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	shards[2].policy = "gate: [leak]\n"
	found, err := Find([]string{write(t, shards)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(found, true); err != nil {
		t.Error(err)
	}
}

// TestTwice: a shard with two different logs is refused.
func TestTwice(t *testing.T) {
	t.Parallel()
	shards := newShards(4, 60)
	run := write(t, shards)
	shards[1].cut = true
	again := writeShard(t, t.TempDir(), &shards[1])
	_, err := judgeBy(check.DefaultPolicy(), run, again)
	want := filepath.Join(run, "shard-0002") + " and " + again +
		": expected each shard once, found two different logs of shard 2; give the one that counts"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestOtherLogs: a folder whose log is not of a shard, and paths without shards, are refused.
func TestOtherLogs(t *testing.T) {
	t.Parallel()
	run := write(t, newShards(2, 20))
	log := filepath.Join(run, "shard-0002", "soak.log")
	for content, want := range map[string]string{
		"hello\n": log + ": expected the log of a shard, as vramsoak soak --shard writes it, ",
		"[vramsoak] run-start files=2 feed=list version=v1 command=work id=a\n": log + ": expected the log of " +
			"a shard, whose first line says which shard it is",
	} {
		if err := os.WriteFile(log, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := judgeBy(check.DefaultPolicy(), run); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
	if _, err := Find([]string{run, t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "expected the folder of a run with shards") {
		t.Errorf("a folder without shards: %v", err)
	}
	if found, err := Find([]string{t.TempDir(), "no-such-file"}); err != nil || len(found) > 0 {
		t.Errorf("paths without shards: %v, %v", found, err)
	}
}

// TestNothing: logs without any reading are no run to judge.
func TestNothing(t *testing.T) {
	t.Parallel()
	shards := newShards(2, 2)
	for i := range shards {
		shards[i].places = nil
	}
	if _, err := judgeBy(check.DefaultPolicy(), write(t, shards)); err == nil ||
		!strings.Contains(err.Error(), "found none in the logs of 2 shards") {
		t.Errorf("got %v", err)
	}
}
