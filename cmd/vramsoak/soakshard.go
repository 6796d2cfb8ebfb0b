package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"vramsoak/harness"
	"vramsoak/harness/queue"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/shard"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/sink"
)

const (
	shardUsage = "work on this `part` of the batch, such as 3/8, or auto: the index of a task of " +
		"Slurm, Kubernetes or GitLab"
	runUsage = "`name` of the run folder in --runs; all shards of a run have the same"
	autoWord = "auto"
)

// A shardValue is the value of --shard.
type shardValue struct{ text *string }

// Set implements [pflag.Value].
func (v *shardValue) Set(s string) error { *v.text = s; return nil }

// String implements [pflag.Value].
func (v *shardValue) String() string { return stringOf(v.text) }

// Type implements [pflag.Value].
func (v *shardValue) Type() string { return "part" }

func (v *shardValue) check() error {
	_, err := shareOf(*v.text)
	return err
}

// shareOf returns the share that --shard names.
func shareOf(text string) (shard.Share, error) {
	if text == autoWord {
		return shard.Auto(os.LookupEnv)
	}
	return shard.Parse(text)
}

// A runName is the value of --run.
type runName struct{ text *string }

// Set implements [pflag.Value].
func (v *runName) Set(s string) error { *v.text = s; return nil }

// String implements [pflag.Value].
func (v *runName) String() string { return stringOf(v.text) }

// Type implements [pflag.Value].
func (v *runName) Type() string { return "name" }

func (v *runName) check() error {
	const most = 200 // bytes; file systems allow 255 in a name
	if s := *v.text; s == "" || len(s) > most || s[0] == '.' || strings.ContainsAny(s, "/\x00") ||
		sink.Line(s) != s {
		return fmt.Errorf("expected the name of a folder, without a slash and a leading dot, such as "+
			"nightly-42, found %q", s)
	}
	return nil
}

// A shardTask is the task that works on one shard of a run. Another task may have worked on it
// before.
type shardTask struct {
	share shard.Share
	node  string // name of the machine
	run   string // folder of the run
	dir   string // folder of the shard
	plan  shard.Plan
	lease *shard.Lease
	ended time.Time // when an earlier task completed the shard; zero if none did
	// bucket keeps the shard in a bucket, or is nil if it is in a folder.
	bucket *bucketShard
}

// shardTask returns the task that --shard describes, or nil without --shard.
func (o soakOptions) shardTask() (*shardTask, error) {
	switch {
	case o.shard == "":
		return nil, nil
	case o.resume != "":
		return nil, errors.New("--shard, --resume: expected one of them; a shard is resumed by the " +
			"command that began it")
	case o.run == "":
		return nil, errors.New("--run: expected the name of the run, which is the same for all its " +
			"shards, such as --run nightly-42, found none")
	case len(o.files) == 0:
		return nil, errors.New("--files: expected the batch to divide into shards, found none")
	}
	share, err := shareOf(o.shard)
	if err != nil {
		return nil, fmt.Errorf("--shard: %w", err)
	}
	run := filepath.Join(o.runs, o.run)
	return &shardTask{
		share: share, node: nodeName(), run: run, dir: filepath.Join(run, shard.Folder(share.Shard)),
	}, nil
}

// nodeName returns the name of this machine. In a container, the host name is that of the
// container, so the variables come first that a scheduler or a manifest sets.
func nodeName() string {
	for _, name := range []string{"VRAMSOAK_NODE", "SLURMD_NODENAME", "NODE_NAME"} {
		if node := os.Getenv(name); node != "" {
			return node
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}

// String returns how messages name the shard: "shard 3 of 8".
func (t *shardTask) String() string {
	return fmt.Sprintf("shard %d of %d", t.share.Shard, t.share.Shards)
}

// divide returns the files of the shard from the whole batch.
func (t *shardTask) divide(o soakOptions, batch []queue.Input) ([]queue.Input, error) {
	t.plan = shard.Plan{
		Files: batch, Shards: t.share.Shards, Repeat: o.repeat, Shuffle: o.shuffle,
		Until: o.until.Seconds(),
	}
	var mine []queue.Input
	for _, i := range shard.Split(batch, t.share.Shards)[t.share.Shard-1] {
		file := batch[i]
		file.Place = int(i) + 1
		mine = append(mine, file)
	}
	if err := missing(mine); err != nil {
		return nil, fmt.Errorf("--files: %s: %w", t, err)
	}
	return mine, nil
}

// files returns how many files the whole run has in all rounds, or 0 if that is not known.
func (t *shardTask) files() int {
	if t.plan.Until > 0 {
		return 0
	}
	return t.plan.Repeat * len(t.plan.Files)
}

// open makes the folder of the shard, or takes over the one that an earlier task has left, and sets
// it in the configuration. The function undo removes a new folder. It returns done if the shard is
// complete already.
func (t *shardTask) open(cfg *harness.Config, o soakOptions, nvml *meter.NVML,
	mine []queue.Input,
) (info runfolder.Info, undo func(), done bool, err error) {
	cfg.Dir = t.dir
	if _, err := exec.LookPath(cfg.Command[0]); err != nil {
		return info, nil, false, fmt.Errorf("the command cannot be started: %w; check the command "+
			"after --", err)
	}
	digest := t.plan.Digest()
	cfg.Share = record.Share{
		Shard: t.share.Shard, Shards: t.share.Shards, Of: t.files(), Batch: digest, Run: o.run,
	}
	cfg.Round = len(t.plan.Files)
	shown, _, err := shownCommand(*cfg)
	if err != nil {
		return info, nil, false, err
	}
	whole := runfolder.Sharded{
		Schema: runfolder.ShardedSchema, Version: cfg.Version, Command: shown, Shards: t.share.Shards,
		Files: t.files(), Batch: digest, Policy: cfg.Policy,
	}
	leave, err := whole.Join(t.run)
	if err == nil && t.bucket != nil {
		err = t.bucket.share(t.run, whole)
	}
	if err != nil {
		return info, nil, false, fmt.Errorf("--run: %w", err)
	}
	_, found := os.Stat(t.dir)
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return info, nil, false, fmt.Errorf("--run: %w", err)
	}
	undo = func() {
		if errors.Is(found, fs.ErrNotExist) {
			t.remove()
			leave()
		}
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	if err := cfg.Validate(); err != nil {
		return info, undo, false, err
	}
	info, err = runfolder.ReadInfo(t.dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		info, err = runInfo(*cfg, o, nvml, time.Now())
		info.Share = &runfolder.Share{
			Shard: t.share.Shard, Shards: t.share.Shards, From: t.share.From, Batch: digest,
		}
	case err == nil:
		cfg.Shown = info.Command
		err = t.sameTask(info, *cfg, o)
	}
	if err != nil {
		return info, undo, false, err
	}
	if done, err = t.done(o); done || err != nil {
		return info, undo, done, err
	}
	if cfg.Resume, err = t.takeOver(cfg, o); err != nil {
		return info, undo, false, err
	}
	if isNew {
		err = errors.Join(writeBatch(t.dir, mine), writeInfo(t.dir, info))
		if err == nil && t.bucket != nil {
			err = t.bucket.putFiles()
		}
	}
	return info, undo, false, err
}

// remove removes the folder of the shard, unless another task works on it. The caller reports an
// error already.
func (t *shardTask) remove() {
	if t.lease != nil && t.lease.Number == 1 && t.lease.Check() == nil {
		_ = os.RemoveAll(t.dir)
	}
	_ = os.Remove(t.dir) // fails if there is something in it
}

// logs returns the paths of the shard's logs.
func (t *shardTask) logs(o soakOptions) []string {
	if len(o.workers) == 0 {
		return []string{filepath.Join(t.dir, harness.LogName)}
	}
	var logs []string
	for _, gpu := range o.workers {
		logs = append(logs, filepath.Join(harness.WorkerDir(t.dir, gpu), harness.LogName))
	}
	return logs
}

// done reports whether the shard is complete, by its logs. A task that lost the shard may have
// written a wrong run.json.
func (t *shardTask) done(o soakOptions) (bool, error) {
	for _, log := range t.logs(o) {
		reason, at, err := shard.Ended(log)
		if t.ended.Before(at) {
			t.ended = at
		}
		if reason != harness.ReasonDone && reason != harness.ReasonFailFast || err != nil {
			return false, err
		}
	}
	return true, nil
}

// takeOver takes a lease, and gives this task a copy of the logs that an earlier task has left. It
// reports whether there were any.
func (t *shardTask) takeOver(cfg *harness.Config, o soakOptions) (resume bool, err error) {
	if t.bucket != nil {
		return t.bucket.takeOver(cfg, t.node)
	}
	if t.lease, err = shard.Take(t.dir, t.node, time.Now()); err != nil {
		return false, err
	}
	cfg.Share.Owner = t.lease.Owner(t.node)
	cfg.Owned = t.lease.Check
	for _, log := range t.logs(o) {
		found, err := t.lease.Adopt(log)
		if err != nil {
			return false, err
		}
		resume = resume || found
	}
	return resume, nil
}

// sameTask returns an error unless the task that began the shard had the same command and flags.
func (t *shardTask) sameTask(before runfolder.Info, cfg harness.Config, o soakOptions) error {
	var errs []error
	switch same, err := before.IsCommand(t.dir, cfg.Command); {
	case err != nil:
		return err
	case !same:
		errs = append(errs, fmt.Errorf("the command is not the one that began this shard, which is %s",
			strings.Join(before.Command, " ")))
	}
	began := before.Config.Flags
	names := map[string]bool{}
	for _, flags := range []map[string][]string{began, o.given} {
		for name := range flags {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was, is := began[name], o.given[name]; !slices.Equal(was, is) {
			errs = append(errs, fmt.Errorf("--%s: expected %s, as when this shard began, found %s", name,
				orNothing(was), orNothing(is)))
		}
	}
	if was := before.Config.Workers; !slices.Equal(was, o.workers) {
		errs = append(errs, fmt.Errorf("--gpus: expected the GPUs %v, as when this shard began, found "+
			"%v; leave --gpus out, and give each task one GPU", was, o.workers))
	}
	if len(errs) > 0 {
		errs = append(errs, fmt.Errorf("%s goes on only with the same command; to begin another run, "+
			"give it a name of its own with --run", t))
	}
	return errors.Join(errs...)
}

func orNothing(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	return strings.Join(values, ", ")
}

// announce says which shard this task works on.
func (t *shardTask) announce(files int) {
	from := ""
	if t.share.From != "" {
		from = " (" + t.share.From + ")"
	}
	stderr.Printf("%s%s: %s of %d, on node %s\n", t, from, plural(files, "file"), len(t.plan.Files),
		t.node)
}

// interrupted writes how far the shard got, and returns the error of a task that a signal ended.
// There is no time for reports: a scheduler kills the task soon. That the end of the log could not
// be stored is no other error: the next task goes on where the stored log ends.
func (t *shardTask) interrupted(ctx context.Context, info runfolder.Info, runErr error) error {
	stderr.Printf("%s is not complete; the same command goes on with it\n", t)
	err := errors.Join(runErr, writeInfo(t.dir, info))
	if err == nil && t.bucket != nil {
		err = t.bucket.putFiles()
	}
	cause := context.Cause(ctx)
	if _, is := errors.AsType[signalError](cause); is && err != nil {
		printError(err)
		return cause
	}
	return cmp.Or(err, cause)
}

// evidence returns nil if the evidence of the shard is complete, whatever it shows. The judge of
// the whole run gives the verdict.
func (t *shardTask) evidence(outcome *harness.Outcome, judged error) error {
	done := outcome.Reason == harness.ReasonDone || outcome.Reason == harness.ReasonFailFast
	if _, is := errors.AsType[verdictError](judged); is {
		judged = nil
	}
	if _, is := errors.AsType[emptyError](judged); is && done { // the judge has other shards too
		stderr.Printf("vramsoak: %s\n", sink.Block(judged.Error()))
		judged = nil
	}
	if t.bucket != nil {
		judged = errors.Join(judged, t.bucket.putFiles())
	}
	ended := 0
	for _, n := range outcome.Counts {
		ended += n
	}
	switch {
	case judged != nil:
		return judged
	case !done:
		return fmt.Errorf("%s is not complete: %d of %s ended (%s); the same command goes on with it", t,
			ended, plural(outcome.Files, "file"), outcome.Reason)
	}
	t.complete()
	return nil
}

// completeBefore says that an earlier task has completed the shard, and when.
func (t *shardTask) completeBefore() {
	stderr.Printf("nothing is left to do: %s ended at %s; another run needs a name of its own, with "+
		"--run\n", t, t.ended.UTC().Format(time.DateTime+" UTC"))
	t.complete()
}

// complete says that the shard is complete, and how the run is judged.
func (t *shardTask) complete() {
	run := t.run
	if t.bucket != nil {
		run = t.bucket.address
	}
	stderr.Printf("%s is complete; when all are, this judges the run: vramsoak check %s\n", t,
		sink.Shell(run))
}

// A signalError says that a signal ended the command. The exit code is then that of a process that
// the signal killed, as shells give it: a scheduler starts such a task again.
type signalError syscall.Signal

func (s signalError) Error() string { return "ended by " + syscall.Signal(s).String() }

// exitCode returns 128 plus the number of the signal.
func (s signalError) exitCode() int { return 128 + int(s) }
