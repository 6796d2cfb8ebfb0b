package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"vramsoak/harness"
	"vramsoak/harness/check"
	"vramsoak/harness/compare"
	"vramsoak/harness/queue"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/sample"
	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

// soakInputs are what a soak reads and checks before it starts a process.
type soakInputs struct {
	policy      check.Policy
	policyText  string
	dialects    *parser.Set
	refs        references
	batch       []queue.Input        // the files of one round
	files       []queue.Input        // the files of all rounds
	more        func() []queue.Input // returns one further round
	maxUsed     sample.Limit
	maxIdleUsed *sample.Limit
}

// inputs reads the policy, the baselines and the batch of a run.
func (o soakOptions) inputs(past *runfolder.Run, task *shardTask) (in soakInputs, err error) {
	if in.policy, in.policyText, err = o.judgedBy(past); err != nil {
		return in, err
	}
	if in.dialects, err = parser.NewSet("", in.policy.Dialects...); err != nil {
		return in, err
	}
	if in.refs, err = (readOptions{policy: o.policy}).references(o.baselines); err != nil {
		return in, err
	}
	if task != nil {
		in.refs = nil // a shard is no run to compare: the judge compares all shards
	}
	for i := range in.refs {
		if err := comparableRuns(in.refs[i].Run, compare.RunInfo{}); err != nil {
			return in, fmt.Errorf("--baseline: %w", err)
		}
	}
	if in.batch, err = o.batch(past, task); err != nil {
		return in, err
	}
	order := rounds{repeat: o.repeat, seed: o.shuffle}
	if task != nil {
		order.shard, order.whole = task.share.Shard, len(task.plan.Files)
	}
	if in.files, in.more, err = order.of(in.batch); err != nil {
		return in, err
	}
	if task != nil {
		task.announce(len(in.batch))
	}
	if in.maxUsed, err = deviceLimit(o.maxUsed); err != nil {
		return in, err
	}
	in.maxIdleUsed, err = idleLimit(o.maxIdleUsed)
	return in, err
}

// config returns the harness's configuration, except for the GPUs, the run folder, the progress and
// the logger.
func (o soakOptions) config(in soakInputs, command []string, past *runfolder.Run) harness.Config {
	cfg := harness.Config{
		Command: command, Files: in.files, Feed: harness.Feed(o.feed), Timeout: o.timeout,
		SettleLimit: o.settleLimit, MaxDeviceUsed: in.maxUsed, MaxIdleUsed: in.maxIdleUsed,
		Grace:   cmp.Or(o.grace, 1), // 0 means none here, but the default to the harness
		OnCrash: harness.OnCrash(o.onCrash), RestartEvery: o.restartEvery,
		MaxRestarts: o.maxRestarts,
		BackOff:     o.backOff, RetryFailed: o.retryFailed, Until: o.until,
		Resume: past != nil, Version: version(), Policy: in.policyText,
		Dialects: in.dialects, Reaper: true, Secrets: o.secrets,
	}
	if o.feed == "" {
		cfg.Feed = harness.FeedOf(command)
	}
	if o.until > 0 {
		cfg.More = in.more
	}
	return cfg
}

// warnOfMarks warns if the command of a new run has {} or {list}, which its feed does not replace.
func warnOfMarks(cfg harness.Config, past *runfolder.Run) {
	if mark := harness.FeedOf(cfg.Command); past == nil && mark != harness.FeedNone &&
		(cfg.Feed == harness.FeedStdin || cfg.Feed == harness.FeedNone) {
		cfg.Logger.Warn(fmt.Sprintf("with --feed %s, {} and {list} in the command are not "+
			"replaced; leave --feed out to have them replaced", cfg.Feed))
	}
}

// useGPUs sets the meters of the GPUs in the configuration. With --gpus it returns one worker for
// each GPU.
func (o *soakOptions) useGPUs(cfg *harness.Config, past *runfolder.Run, nvml *meter.NVML) (
	workers []harness.Worker, err error,
) {
	if nvml != nil {
		gpus := nvml.View(nvml.Visible(os.LookupEnv(meter.VisibleDevices)))
		cfg.Device, cfg.Occupied = gpus.Use, gpus.Occupied
	} else if cfg.MaxIdleUsed != nil {
		cfg.Logger.Info("there is no NVIDIA driver, so --max-idle-used has no effect")
	}
	if o.workers, err = o.gpusOf(past, nvml); err != nil {
		return nil, err
	}
	if workers = workersOn(o.workers, nvml); len(workers) > 0 {
		err = harness.ValidateWorkers(*cfg, workers)
	}
	return workers, err
}

// openFolder makes the folder of a new run, or takes that of a resumed one, and sets it in the
// configuration. The function undo removes a new folder. It returns done if a shard is complete
// already.
func (o soakOptions) openFolder(cfg *harness.Config, past *runfolder.Run, nvml *meter.NVML,
	batch []queue.Input, task *shardTask,
) (info runfolder.Info, undo func(), done bool, err error) {
	switch {
	case task != nil:
		return task.open(cfg, o, nvml, batch)
	case past != nil:
		cfg.Dir, cfg.Shown = past.Dir, past.Info.Command
		return past.Info, func() {}, false, nil
	}
	cfg.Dir, info, undo, err = newRun(*cfg, o, nvml, batch)
	return info, undo, false, err
}

// judgedBy returns the policy to judge the run by.
func (o soakOptions) judgedBy(past *runfolder.Run) (policy check.Policy, text string, err error) {
	if past != nil {
		return past.Policy, past.Info.Config.Policy, nil
	}
	return policyFor(o.policy, nil)
}

// batch returns the files of one round of the run, or of its shard.
func (o soakOptions) batch(past *runfolder.Run, task *shardTask) ([]queue.Input, error) {
	switch {
	case past != nil:
		return runfolder.ReadBatch(past.Dir)
	case task == nil:
		return inputs("--files", o.files, missing)
	}
	// Other shards look for their own files.
	all, err := inputs("--files", o.files, func([]queue.Input) error { return nil })
	if err != nil {
		return nil, err
	}
	return task.divide(o, all)
}

// gpusOf returns the GPUs of the run. A resumed run keeps its GPUs.
func (o soakOptions) gpusOf(past *runfolder.Run, nvml *meter.NVML) ([]int, error) {
	text := o.gpus
	if past != nil {
		words := make([]string, len(past.Info.Config.Workers))
		for i, gpu := range past.Info.Config.Workers {
			words[i] = strconv.Itoa(gpu)
		}
		text = strings.Join(words, ",")
	}
	value, set := os.LookupEnv(meter.VisibleDevices)
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(value, "MIG-"):
		return nil, fmt.Errorf("--gpus: %s names instances of a partitioned GPU (MIG), and "+
			"workers have whole ones; leave --gpus out, or unset it",
			meter.VisibleDevices)
	case nvml == nil:
		return meter.Choose(text, meter.Machine{})
	}
	return meter.Choose(text, meter.Machine{
		Driver: true, Count: len(nvml.Devices()),
		Visible: nvml.Visible(value, set),
	})
}

// runOn runs one worker on each GPU. Without workers, it runs one pipeline, which uses the GPUs
// that it sees.
func runOn(ctx context.Context, cfg harness.Config, workers []harness.Worker) (*harness.Outcome,
	error,
) {
	if len(workers) == 0 {
		return harness.Run(ctx, cfg)
	}
	if workers[0].Device == nil {
		cfg.Logger.Info("there is no NVIDIA driver: the processes are told their GPU, but the " +
			"memory in use on it is not sampled")
	}
	return harness.RunAll(ctx, cfg, workers)
}

// workersOn returns one worker for each GPU.
func workersOn(gpus []int, nvml *meter.NVML) []harness.Worker {
	var workers []harness.Worker
	for _, gpu := range gpus {
		w := harness.Worker{GPU: gpu}
		if nvml != nil {
			view := nvml.View([]int{gpu})
			w.Device, w.Occupied = view.Use, view.Occupied
		}
		workers = append(workers, w)
	}
	return workers
}

// deviceLimit reads the value of --max-device-used: "90%" or "20GiB". An empty value means no
// limit.
func deviceLimit(s string) (sample.Limit, error) {
	if s == "" {
		return sample.Limit{}, nil
	}
	limit, err := sample.ParseLimit(s)
	if err != nil || limit == (sample.Limit{}) {
		return sample.Limit{}, fmt.Errorf("--max-device-used: expected a share such as 90%% or a "+
			"size such as 20GiB, found %q", s)
	}
	return limit, nil
}

// idleLimit reads the value of --max-idle-used. It returns nil for an empty value, which allows any
// amount.
func idleLimit(text string) (*sample.Limit, error) {
	if text == "" {
		return nil, nil
	}
	limit, err := sample.ParseLimit(text)
	if err != nil {
		return nil, fmt.Errorf("--max-idle-used: %w", err)
	}
	return &limit, nil
}
