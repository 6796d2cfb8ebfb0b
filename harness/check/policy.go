package check

import (
	"math"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"vramsoak/harness/shape"
	"vramsoak/parser/dialect"
	"vramsoak/parser/dialect/table"
	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// A Policy is what a user demands of a run. Every part of the policy file (vramsoak.yaml) may be
// left out:
//
//	gate: [recovery, leak, fragmentation, dark-memory, device-used, host-memory, shared-memory,
//	  file-descriptors, peak, out-of-memory, completeness, regression, consistency]
//	require: [recovery]         # skipped then counts as undecided
//	recovery: {min: 95%, floor: 1MiB}
//	peak: {notice: 70%, max: 85%}
//	leak: {max_growth: 256KiB, min_files: 8, warm_up: 0}
//	fragmentation: {max_growth: 1MiB, max_share: 20%}
//	dark_memory: {max_growth: 1MiB}
//	device_used: {max_growth: 1MiB}
//	pinned_memory: {max_growth: 1MiB}
//	host_memory: {max_growth: 1MiB}
//	shared_memory: {max_growth: 1MiB, max_left: 1MiB}
//	file_descriptors: {max_growth: 0.1}
//	threads: {max_growth: 0.1}
//	processes: {max_growth: 0.1}
//	drift: {max_change: 5%}
//	clean_start: {max_used: 512MiB, max_left: 64MiB}
//	regression: {min_effect: 1%, min_bytes: 8MiB, min_slowdown: 5%, false_alarms: 0.1%, exact: false}
//	expect:
//	  checkpoints: [Before Whisper Cleanup, After Whisper Cleanup]
//	waive:                      # known findings, which do not fail the run
//	  - {check: leak, up_to: 2MiB, until: 2027-01-31, reason: the cache of torch 2.4}
//	dialects:                   # lines of your own, see dialect.User
//	  - {name: ours, pattern: 'VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)', unit: MiB}
type Policy struct {
	// Gate lists the checks that decide the verdict of the report. Other checks are only shown.
	Gate []string
	// Require lists the checks that must be judged. If such a check is skipped, it counts as
	// undecided.
	Require  []string
	Recovery RecoveryPolicy
	Peak     PeakPolicy
	// MaxGrowth maps the name of each ledger to the growth that is allowed from one file to the next,
	// in the ledger's unit.
	MaxGrowth     map[string]float64
	Leak          LeakPolicy
	Fragmentation FragmentationPolicy
	SharedMemory  SharedMemoryPolicy
	Drift         DriftPolicy
	CleanStart    CleanStartPolicy
	// Regression holds the limits for the comparison with earlier runs.
	Regression RegressionPolicy
	Expect     ExpectPolicy
	Waive      []WaivePolicy
	// Dialects are log formats that the user describes. Logs are read in them and in the built-in
	// ones.
	Dialects []dialect.User
}

// RecoveryPolicy holds the limits for cleanups and stages.
type RecoveryPolicy struct {
	Min   Share  // part of the held memory that must be freed
	Floor Amount // a cleanup of objects that held at most this much had nothing to free
}

// PeakPolicy limits the high-water mark. Its values are parts of the device's total.
type PeakPolicy struct {
	Notice Share // above it the message is a notice
	Max    Share // above it the check fails
}

// LeakPolicy holds the settings of all checks that judge how values change from file to file.
type LeakPolicy struct {
	MinFiles int // number of files that one process must have; at least shape.LeastFiles
	WarmUp   int // files to ignore at the start of each process
}

// FragmentationPolicy limits the memory that the allocator reserves and never hands out.
type FragmentationPolicy struct {
	// MaxShare is the part of a process's largest reserved memory that may stay unused for the whole
	// process. The default 0 sets no limit, because an allocator may keep a cache.
	MaxShare Share
}

// SharedMemoryPolicy limits what a run leaves behind in /dev/shm.
type SharedMemoryPolicy struct {
	MaxLeft Amount // after the last process
}

// DriftPolicy limits how much the peaks of stages, the recovered ratios and the speed may change.
type DriftPolicy struct {
	MaxChange Share // largest change for the worse over a run, as a part of the median
}

// CleanStartPolicy limits the memory in use on a device before the run and after it.
type CleanStartPolicy struct {
	MaxUsed Amount // memory in use before the first process starts
	MaxLeft Amount // increase after the last process, without the memory of other programs
}

// RegressionPolicy limits how much worse a metric may be than in an earlier run. For a metric in
// bytes, MinEffect and MinBytes both give a limit, and the larger one applies.
type RegressionPolicy struct {
	MinEffect   Share  // for bytes and ratios, as a part of the earlier median
	MinBytes    Amount // for bytes
	MinSlowdown Share  // for times and throughput, as a part of the earlier median
	// FalseAlarms is the probability that a comparison of two equal runs fails by chance, in any of
	// the metrics.
	FalseAlarms Share
	// Set Exact for runs without any noise. Then any difference for the worse in memory or ratios
	// fails.
	Exact bool
}

// ExpectPolicy lists what a log must contain.
type ExpectPolicy struct {
	Checkpoints []string // names of checkpoints that every file that ended well must have
}

// A Share is a ratio: 0.95, written 95% or 0.95.
type Share float64

// An Amount is a number of bytes, written 64KiB or 1048576.
type Amount struct{ Bytes int64 }

// DefaultPolicy returns the policy that applies without a policy file, with the limits that the
// documentation gives. It does not gate on drift, throughput and clean start, because the cause is
// often not the pipeline's use of memory. Nor does it gate on fallbacks, with which pipelines are
// meant to go on, nor on pinned memory, device recovery, threads and processes, because caches and
// pools grow in sound pipelines.
func DefaultPolicy() Policy {
	p := Policy{
		Gate: slices.DeleteFunc(slices.Clone(Checks), func(check string) bool {
			return check == DeviceRecovery || check == Drift || check == Throughput ||
				check == Fallbacks || check == CleanStart
		}),
		Recovery:     RecoveryPolicy{Min: 0.95, Floor: Amount{record.MiB}},
		Peak:         PeakPolicy{Notice: 0.70, Max: 0.85},
		MaxGrowth:    map[string]float64{},
		Leak:         LeakPolicy{MinFiles: shape.LeastFiles},
		SharedMemory: SharedMemoryPolicy{MaxLeft: Amount{record.MiB}},
		Drift:        DriftPolicy{MaxChange: 0.05},
		CleanStart: CleanStartPolicy{
			MaxUsed: Amount{512 * record.MiB}, MaxLeft: Amount{64 * record.MiB},
		},
		Regression: RegressionPolicy{
			MinEffect: 0.01, MinBytes: Amount{8 * record.MiB}, MinSlowdown: 0.05, FalseAlarms: 0.001,
		},
	}
	for i := range Ledgers {
		of := &Ledgers[i]
		p.MaxGrowth[of.Name] = of.MaxGrowth
		if !of.Gates {
			p.Gate = slices.DeleteFunc(p.Gate, func(check string) bool { return check == of.Check })
		}
	}
	return p
}

// ParsePolicy returns the policy in the YAML text src. Keys that the text leaves out have the
// values of [DefaultPolicy]. The error lists every mistake with its line and column, after the file
// name that the parameter name gives.
func ParsePolicy(src []byte, name string) (Policy, error) {
	policy := DefaultPolicy()
	r := policyReader{strictyaml.New(name)}
	if body := r.Document(src, "", ""); body != nil { // an empty file keeps the defaults
		r.Mapping(body, r.policy(&policy))
	}
	if err := r.Err(); err != nil {
		return Policy{}, err
	}
	return policy, nil
}

type policyReader struct{ *strictyaml.Reader }

// policy returns the keys of a policy file, each with the function that reads its value into p.
func (r policyReader) policy(p *Policy) strictyaml.Fields {
	checks := func(to *[]string) func(ast.Node) {
		return func(n ast.Node) {
			*to = nil
			for _, item := range r.List(n) {
				var check string
				if strictyaml.OneOf(r.Reader, &check, Checks...)(item); check != "" {
					*to = append(*to, check)
				}
			}
		}
	}
	parts := map[string]strictyaml.Fields{
		"recovery": {
			"min":   strictyaml.Share(r.Reader, &p.Recovery.Min),
			"floor": r.Bytes(&p.Recovery.Floor.Bytes, "an amount"),
		},
		"peak": {
			"notice": strictyaml.Share(r.Reader, &p.Peak.Notice),
			"max":    strictyaml.Share(r.Reader, &p.Peak.Max),
		},
		"leak": {
			"min_files": r.Integer(&p.Leak.MinFiles, shape.LeastFiles),
			"warm_up":   r.Integer(&p.Leak.WarmUp, 0),
		},
		"fragmentation": {"max_share": strictyaml.Share(r.Reader, &p.Fragmentation.MaxShare)},
		"shared_memory": {"max_left": r.Bytes(&p.SharedMemory.MaxLeft.Bytes, "an amount")},
		"drift":         {"max_change": strictyaml.Share(r.Reader, &p.Drift.MaxChange)},
		"clean_start": {
			"max_used": r.Bytes(&p.CleanStart.MaxUsed.Bytes, "an amount"),
			"max_left": r.Bytes(&p.CleanStart.MaxLeft.Bytes, "an amount"),
		},
		"regression": {
			"min_effect":   strictyaml.Share(r.Reader, &p.Regression.MinEffect),
			"min_bytes":    r.Bytes(&p.Regression.MinBytes.Bytes, "an amount"),
			"min_slowdown": strictyaml.Share(r.Reader, &p.Regression.MinSlowdown),
			"false_alarms": strictyaml.Share(r.Reader, &p.Regression.FalseAlarms),
			"exact":        r.Flag(&p.Regression.Exact),
		},
		"expect": {"checkpoints": r.Texts(&p.Expect.Checkpoints, "the name of a checkpoint")},
	}
	for i := range Ledgers {
		of := &Ledgers[i]
		if parts[of.Key] == nil {
			parts[of.Key] = strictyaml.Fields{}
		}
		parts[of.Key]["max_growth"] = r.maxGrowth(p, of)
	}
	all := strictyaml.Fields{
		"gate": checks(&p.Gate), "require": checks(&p.Require), "waive": r.waive(p),
		"dialects": func(n ast.Node) { p.Dialects = table.Load(r.Reader, n, dialect.Names()) },
	}
	for key, fields := range parts {
		all[key] = func(n ast.Node) { r.Mapping(n, fields) }
	}
	return all
}

// maxGrowth returns the function that reads the key max_growth of a ledger into p.
func (r policyReader) maxGrowth(p *Policy, of *Ledger) func(ast.Node) {
	return func(n ast.Node) {
		most := p.MaxGrowth[of.Name]
		if of.Unit == Bytes {
			bytes := int64(most)
			r.Bytes(&bytes, "an amount")(n)
			most = float64(bytes)
		} else {
			r.Number(&most, 0, math.MaxInt32, "a number of 0 or more")(n)
		}
		p.MaxGrowth[of.Name] = most
	}
}
