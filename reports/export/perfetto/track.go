package perfetto

import (
	"slices"

	"vramsoak/reports/metrics"
)

// group returns the group that a track is in.
func (t track) group() track {
	switch t.kind {
	case ofLevels:
		if t.metric == &metrics.FileEnd {
			return track{log: t.log, kind: ofKept, lane: t.lane}
		}
		fallthrough
	case ofStages, ofKept:
		return track{log: t.log, kind: ofLane, lane: t.lane}
	case ofResource:
		return track{log: t.log, kind: ofMachine}
	}
	return track{log: t.log}
}

// name returns the name of a track, as the viewer shows it.
func (t track) name() string {
	switch t.kind {
	case ofFiles:
		if t.writer != "" {
			return "files of " + t.writer
		}
		return "files"
	case ofNotes:
		return "events"
	case ofLane:
		return t.lane.Name(t.lane.Rank != 0)
	case ofStages:
		return "stages"
	case ofKept:
		return "left behind at file ends"
	case ofMachine:
		return "processes"
	case ofLevels, ofResource:
		return t.counterName()
	}
	return t.log
}

// resourceNames are the names of counters that are of no ledger.
var resourceNames = map[*metrics.Metric]string{
	&metrics.DeviceSize: "device size", &metrics.HostMemory: "host memory",
	&metrics.SharedMemory: "shared memory", &metrics.OpenFiles: "file descriptors",
	&metrics.Threads: "threads", &metrics.Processes: "processes",
}

func (t track) counterName() string {
	name := resourceNames[t.metric]
	if name == "" {
		name = metrics.LedgerName(t.ledger)
	}
	switch t.source {
	case metrics.Sample:
		name += ", sampled"
	case metrics.AtFileEnd:
		name += ", at file ends"
	}
	return name
}

// rank returns the place of a track among those of its group.
func (t track) rank() int {
	switch t.kind {
	case ofLane:
		return int(ofMachine) + 1 + 64*t.lane.Rank + t.lane.Device
	case ofLevels:
		ledger := slices.IndexFunc(metrics.Ledgers,
			func(l metrics.Ledger) bool { return l.Key == t.ledger })
		return int(ofLevels) + 1 + ledger
	case ofKept:
		return 1000 // below the ledgers
	case ofResource:
		return slices.Index(metrics.Resources[:], t.metric)
	}
	return int(t.kind)
}
