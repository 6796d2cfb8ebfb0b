package main

import (
	"io"
	"runtime/debug"

	"vramsoak/harness/merge"
	"vramsoak/parser"
	"vramsoak/parser/timeline"
	"vramsoak/reports/junit"
)

// The garbage collector works when the heap has grown by shardsGarbage percent, and harder above
// shardsMemory bytes. The memory of a run of shards does not grow with their number.
const (
	shardsGarbage = 1000
	shardsMemory  = 512 << 20
)

// checkShards judges a run of many shards, and prints the report.
func checkShards(out io.Writer, shards []merge.Shard, opts checkOptions) error {
	refs, err := opts.read.references(opts.baselines)
	if err != nil {
		return err
	}
	opts.read.measures = len(refs) > 0
	judged, err := opts.read.judgeShards(shards)
	if err != nil {
		return err
	}
	if err := refs.joinShards(judged); err != nil {
		return err
	}
	tl := judged.Timeline()
	if opts.print.format == "junit" {
		err = junit.WriteShards(out, judged)
	} else {
		err = opts.print.write(out, tl, judged.Report)
	}
	if err != nil {
		return err
	}
	if err := reportToCI(out, opts.print, tl, judged.Report); err != nil {
		return err
	}
	return verdict(judged.Report)
}

// judgeShards judges the shards as one run, by the policy that the user names or else by the one in
// their logs.
func (o readOptions) judgeShards(shards []merge.Shard) (*merge.Judged, error) {
	debug.SetGCPercent(shardsGarbage)
	debug.SetMemoryLimit(shardsMemory)
	run, err := merge.Open(shards, o.policy != "")
	if err != nil {
		return nil, err
	}
	run.Measures = o.measures
	policy, _, err := policyFor(o.policy,
		&timeline.Timeline{Runs: []timeline.Run{{Start: run.Start}}})
	if err != nil {
		return nil, err
	}
	dialects, err := parser.NewSet(o.dialect, policy.Dialects...)
	if err != nil {
		return nil, err
	}
	return run.Judge(policy, dialects)
}
