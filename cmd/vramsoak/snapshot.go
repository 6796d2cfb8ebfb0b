package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vramsoak/parser/segments"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/jsondoc"
	"vramsoak/reports/pprof"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type snapshotOptions struct {
	format string
	device int
	pprof  string
	trace  string
	log    string
	show   text.SnapshotOptions
}

// allDevices is the value of --device that selects all devices.
const allDevices = -1

func newSnapshotCommand() *cobra.Command {
	opts := snapshotOptions{}
	cmd := &cobra.Command{
		Use:   "snapshot FILE.pickle",
		Short: "Show what holds memory in a PyTorch memory snapshot, and what leaked",
		Long: `Snapshot reads what torch.cuda.memory._dump_snapshot("FILE.pickle") wrote, without
Python and without running anything in the file. It shows what holds memory, by the line of the
program that allocated it; the allocations that failed, and whether memory was short or
fragmented; what was allocated in the recorded history and never freed, in how many steps; what
keeps free memory from being released; and what was allocated at the peak.

To record a snapshot: call torch.cuda.memory._record_memory_history() first, and _dump_snapshot at
the end or when memory runs out.`,
		Example: `  vramsoak snapshot oom.pickle
  vramsoak snapshot oom.pickle --stacks --top 3
  vramsoak snapshot oom.pickle --pprof oom.pb.gz && go tool pprof -top oom.pb.gz
  vramsoak snapshot oom.pickle --trace oom.trace && vramsoak replay oom.trace --capacity 24G --conf expandable_segments:True
  vramsoak snapshot oom.pickle --log oom.log && vramsoak plot oom.log --fragmentation -o oom.png
  vramsoak snapshot oom.pickle --format json | jq '.devices[0].holds[:3]'`,
		Args: wantsFiles(1, 1, "a snapshot, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSnapshot(cmd.OutOrStdout(), args[0], opts)
		},
	}
	f := cmd.Flags()
	choiceVar(f, &opts.format, "format", "text", textOrJSON, "text or json")
	wholeVar(f, &opts.show.Top, "top", 10, 0, "rows of each table of the text; 0 for all")
	f.BoolVar(&opts.show.Stacks, "stacks", false,
		"show whole stacks, with PyTorch's own frames, in the text and in the profile")
	wholeVar(f, &opts.device, "device", allDevices, allDevices, "only this device; -1 for all")
	extraVar(f, &opts.pprof, "pprof", "write what holds memory, at the end and at the peak, "+
		"to this `file` for go tool pprof")
	extraVar(f, &opts.trace, "trace", "write the events of one device to this `file` as a "+
		"trace for vramsoak replay")
	extraVar(f, &opts.log, "log",
		fmt.Sprintf("write the segments at the end, at the peak and whenever memory ran out (the "+
			"first %d times) to this `file` as lines of a log", snapshot.MaxMaps))
	return cmd
}

// snapshotGarbage is the GOGC percentage while a snapshot is read. A low percentage keeps the
// program's memory below 20 times the size of the file.
const snapshotGarbage = 25

func runSnapshot(out io.Writer, path string, opts snapshotOptions) error {
	debug.SetGCPercent(snapshotGarbage)
	snap, err := snapshot.Open(path)
	if err != nil {
		return err
	}
	if err := choose(snap, path, opts.device); err != nil {
		return err
	}
	if opts.trace != "" && len(snap.Devices) > 1 {
		return fmt.Errorf("%s has devices %s; a trace is of one: give --device", path,
			deviceNames(snap))
	}
	analyses := make([]*snapshot.Analysis, len(snap.Devices))
	for i := range snap.Devices {
		analyses[i] = snap.Devices[i].Analyze(snap.Annotations)
	}
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{opts.pprof, func(w io.Writer) error {
			return pprof.Write(w, snap, analyses, opts.show.Stacks)
		}},
		{opts.trace, sink.Text(func(w io.Writer) error { return snap.Devices[0].WriteTrace(w) })},
		{opts.log, sink.Text(func(w io.Writer) error { return writeMaps(w, snap, analyses) })},
	} {
		if f.path == "" {
			continue
		}
		if err := writeOutput(f.path, f.write); err != nil {
			return err
		}
	}
	for _, note := range snap.Notes {
		stderr.Printf("vramsoak: %s: %s\n", displayName(path), note)
	}
	if opts.format == "json" {
		return jsondoc.Snapshot(out, displayName(path), analyses)
	}
	return text.Snapshot(out, analyses, opts.show, textOptions(out))
}

// writeMaps writes the segments of all devices as log lines, see package segments.
func writeMaps(w io.Writer, snap *snapshot.Snapshot, analyses []*snapshot.Analysis) error {
	for i := range snap.Devices {
		for m := range snap.Devices[i].Maps(analyses[i].Trace) {
			if _, err := w.Write(append(segments.AppendLine(&m, nil), '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose drops all devices except the selected one.
func choose(snap *snapshot.Snapshot, path string, device int) error {
	if len(snap.Devices) == 0 {
		found := "none"
		if len(snap.Notes) > 0 {
			found += " (" + strings.Join(snap.Notes, "; ") + ")"
		}
		return fmt.Errorf("%s: expected segments or events of a device, found %s; take the "+
			"snapshot while the program holds memory", path, found)
	}
	if device == allDevices {
		return nil
	}
	for _, d := range snap.Devices {
		if d.Index == device {
			snap.Devices = []snapshot.Device{d}
			return nil
		}
	}
	return fmt.Errorf("--device: expected one of %s (%s), found %d", path, deviceNames(snap),
		device)
}

func deviceNames(snap *snapshot.Snapshot) string {
	names := make([]string, len(snap.Devices))
	for i, d := range snap.Devices {
		names[i] = strconv.Itoa(d.Index)
	}
	return strings.Join(names, ", ")
}
