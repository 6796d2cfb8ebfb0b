package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/harness/merge"
	"vramsoak/harness/runfolder"
	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/plots"
	"vramsoak/reports/plots/fragmentation"
	"vramsoak/reports/plots/memory"
	"vramsoak/reports/plots/overfiles"
	"vramsoak/reports/plots/overshards"
)

type plotOptions struct {
	output string
	over   string
	// fragmentation is set to draw the allocator's segments.
	fragmentation bool

	read readOptions
	size plots.Options
}

// The values of --over: the x axis of a plot.
const (
	overTime  = "time"
	overFiles = "files"
)

func newPlotCommand() *cobra.Command {
	opts := plotOptions{}
	cmd := &cobra.Command{
		Use:   "plot LOG... -o memory.{png,svg,pdf}",
		Short: "Plot memory over time, or the values that are judged over files",
		Long: `Plot draws allocated, reserved and device used over time, with the boundaries of
files, the stages, the level at which each file ends, the 70 and 85 % lines, the high-water mark,
where memory ran out, and the cleanups that failed. If the log has several devices or ranks, the
large plot shows the one that fails, or else the busiest, and small plots show the others.

With --over files it draws what the leak, fragmentation, dark-memory, drift and throughput checks
judge: the value of each file, the shape that was found with the files at which it changes, and the
growth with its 95 % interval.

With --fragmentation it draws what the allocator holds, segment by segment. If an allocation
failed, it shows what was free in sum and in one piece, and why the request did not fit. The log
must have segment maps, as simulate and vramlog.py print them, or be one of PyTorch's snapshots.

The folder of a run with shards gets another picture: how much each ledger grows in each shard, with
its 95 % interval, and in all shards together.

The extension of the output's name chooses the format.` + dialectHelp(),
		Example: `  vramsoak plot run.log -o memory.png
  vramsoak plot run.log --over files -o drift.png
  vramsoak simulate pipeline.yaml > run.log; vramsoak plot run.log --fragmentation -o fragmentation.png
  vramsoak plot runs/*/soak.log -o nights.svg --width 2400`,
		Args: wantsFiles(1, 0, "logs or run folders"),
		RunE: func(_ *cobra.Command, args []string) error { return runPlot(args, opts) },
	}
	pictureVar(cmd.Flags(), &opts.output, "memory.png",
		"`file` to write: .png, .svg or .pdf; - is standard output", pictures)
	choiceVar(cmd.Flags(), &opts.over, "over", overTime, overs, "the x axis: time or files")
	cmd.Flags().BoolVar(&opts.fragmentation, "fragmentation", false,
		"draw the allocator's segments over time, and why a request did not fit")
	policyVar(cmd.Flags(), &opts.read.policy,
		"policy `file` (YAML): which cleanups fail, and how much growth is allowed")
	cmd.Flags().StringVar(&opts.read.dialect, "dialect", "", dialectUsage)
	wholeVar(cmd.Flags(), &opts.size.Width, "width", 1600, 1, "width in pixels")
	wholeVar(cmd.Flags(), &opts.size.Height, "height", 0, 0,
		"height in pixels; 0 is 900 and more for small plots, or what the panels over files need")
	return cmd
}

func runPlot(paths []string, opts plotOptions) error {
	if opts.fragmentation && opts.over == overFiles {
		return errors.New("--fragmentation, --over files: expected one of them")
	}
	shards, err := shardsIn(paths)
	if err != nil {
		return err
	}
	if len(shards) > 0 {
		return runPlotShards(shards, opts)
	}
	logs, err := runfolder.Resolve(paths)
	if err != nil {
		return err
	}
	format := pictureFormat(opts.output)
	if opts.fragmentation {
		return runPlotFragmentation(logs, format, opts)
	}
	opts.read.trends = opts.over == overFiles
	sketch := memory.NewSketch(opts.size)
	tl, report, err := opts.read.judge(logs, sketch)
	if err != nil {
		return err
	}
	var picture interface {
		Plot(w io.Writer, format string, opts plots.Options) error
	}
	if opts.over == overFiles {
		picture = overfiles.New(report)
	} else {
		picture = sketch.Chart(tl, report)
	}
	runtime.GC() // the canvas then takes the memory in which the log was read
	return writeOutput(opts.output, func(w io.Writer) error {
		return picture.Plot(w, format, opts.size)
	})
}

// runPlotShards draws how much each ledger grows in the shards of a run.
func runPlotShards(shards []merge.Shard, opts plotOptions) error {
	if opts.fragmentation {
		return fmt.Errorf("--fragmentation: expected a log, or the folder of one shard such as %s, "+
			"found %s", displayName(shards[0].Name), plural(len(shards), "shard"))
	}
	judged, err := opts.read.judgeShards(shards)
	if err != nil {
		return err
	}
	picture := overshards.New(judged)
	return writeOutput(opts.output, func(w io.Writer) error {
		return picture.Plot(w, pictureFormat(opts.output), opts.size)
	})
}

// runPlotFragmentation draws an allocator's segments over time. The paths are logs or PyTorch's
// snapshots.
func runPlotFragmentation(paths []string, format string, opts plotOptions) error {
	var picture fragmentation.Maps
	for _, path := range paths {
		if isSnapshot(path) {
			if err := addSnapshot(&picture, path); err != nil {
				return err
			}
		} else if err := opts.read.addSegments(&picture, path); err != nil {
			return err
		}
	}
	return writeOutput(opts.output, func(w io.Writer) error {
		return picture.Plot(w, format, opts.size)
	})
}

// addSegments adds the segments of a log.
func (o readOptions) addSegments(picture *fragmentation.Maps, path string) error {
	log, d, err := o.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // only read
	found := false
	for rec, err := range d.set.Read(log, displayName(path)) {
		if err != nil {
			return err
		}
		_, is := rec.(record.SegmentMap)
		found = found || is
		picture.Add(rec)
	}
	if !found {
		return fmt.Errorf("%s: %w", displayName(path), fragmentation.ErrNoSegments)
	}
	return nil
}

// isSnapshot reports whether a file is a PyTorch snapshot. A snapshot is a pickle, which begins
// with the byte 0x80 and the protocol's version, 2 to 5.
func isSnapshot(path string) bool {
	head, err := headOf(path) // an error comes again when the file is read
	return err == nil && (len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 ||
		strings.HasSuffix(path, ".pickle"))
}

// addSnapshot adds the segments of each device in a snapshot.
func addSnapshot(picture *fragmentation.Maps, path string) error {
	snap, err := snapshot.Open(path)
	if err != nil {
		return err
	}
	picture.Partial = true
	for i := range snap.Devices {
		d := &snap.Devices[i]
		for m := range d.Maps(d.Analyze(snap.Annotations).Trace) {
			picture.Add(m)
		}
	}
	return nil
}
