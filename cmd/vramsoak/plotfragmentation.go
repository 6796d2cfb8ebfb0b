package main

import (
	"fmt"
	"io"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/snapshot"
	"vramsoak/reports/plots/fragmentation"
)

// runPlotFragmentation draws the segments of an allocator over time: those that logs have, or those of PyTorch's snapshots.
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
	return writeFile(opts.output, func(w io.Writer) error { return picture.Plot(w, format, opts.size) })
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

// isSnapshot says that a file is one of PyTorch's snapshots: a pickle, which begins with 0x80 and its protocol, 2 to 5.
func isSnapshot(path string) bool {
	head, err := headOf(path) // an error comes again
	return err == nil && (len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 || strings.HasSuffix(path, ".pickle"))
}

// addSnapshot adds the segments of a snapshot, of each device where they are known.
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
