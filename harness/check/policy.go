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

// A Policy is what a user demands. In a file (vramsoak.yaml) every part may be left out:
//
//	gate: [recovery, leak, fragmentation, dark-memory, peak, out-of-memory, completeness, regression,
//	  consistency]
//	require: [recovery]         # skipped then counts as undecided
//	recovery: {min: 95%, floor: 1MiB}
//	peak: {notice: 70%, max: 85%}
//	leak: {max_growth: 192KiB, min_files: 8, warm_up: 0}
//	fragmentation: {max_growth: 1MiB, max_share: 20%}
//	dark_memory: {max_growth: 1MiB}
//	drift: {max_change: 5%}
//	clean_start: {max_used: 512MiB, max_left: 64MiB}
//	regression: {min_effect: 1%, min_bytes: 8MiB, min_slowdown: 5%, false_alarms: 0.1%, exact: false}
//	expect:
//	  checkpoints: [Before Whisper Cleanup, After Whisper Cleanup]
//	dialects:                   # lines of your own, see parser.UserDialect
//	  - {name: ours, pattern: 'VRAM (?P<used>[\d.]+) of (?P<total>[\d.]+)', unit: MiB}
type Policy struct {
	// Gate names the checks that decide the verdict of the whole; the others are shown only.
	Gate []string
	// Require names the checks that must be judged.
	Require  []string
	Recovery RecoveryPolicy
	Peak     PeakPolicy
	// MaxGrowth is how much each ledger may grow from one file to the next, in its unit, by its name.
	MaxGrowth     map[string]float64
	Leak          LeakPolicy
	Fragmentation FragmentationPolicy
	Drift         DriftPolicy
	CleanStart    CleanStartPolicy
	// Regression is for the comparison with earlier runs.
	Regression RegressionPolicy
	Expect     ExpectPolicy
	// Dialects are the user's own. Logs are read in them besides the built-in ones.
	Dialects []dialect.User
}

// RecoveryPolicy is for cleanups and stages.
type RecoveryPolicy struct {
	Min   Share  // of what was held, to be freed
	Floor Amount // at most this much held is nothing to free
}

// PeakPolicy is for the high-water mark over the device's total.
type PeakPolicy struct {
	Notice Share // above it the message says so
	Max    Share // above it the check fails
}

// LeakPolicy is for everything that is judged over files.
type LeakPolicy struct {
	MinFiles int // in one process, to judge at all; at least shape.LeastFiles
	WarmUp   int // files at the start of a process that are left out
}

// FragmentationPolicy is for what the allocator holds and does not hand out.
type FragmentationPolicy struct {
	// MaxShare is the part of a process's largest reserve that may be never handed out. 0, the
	// default, is no limit: an allocator may well hold a cache.
	MaxShare Share
}

// DriftPolicy is for the peaks of stages, recoveries and speed.
type DriftPolicy struct {
	MaxChange Share // of the median, for the worse, over a run
}

// CleanStartPolicy is for what is in use on a device while no process of the run lives.
type CleanStartPolicy struct {
	MaxUsed Amount // before the first process
	MaxLeft Amount // more, after the last one, other tenants' left out
}

// RegressionPolicy is for how much worse a metric may be than in an earlier run. A metric in
// bytes may be worse by the larger of two amounts.
type RegressionPolicy struct {
	MinEffect   Share  // of the earlier run's median: what is in bytes, and ratios
	MinBytes    Amount // what is in bytes
	MinSlowdown Share  // of the earlier run's median: times and throughput
	// the share of comparisons of like runs that may fail, over all of their metrics
	FalseAlarms Share
	// Exact compares memory and ratios byte by byte, for runs without any noise: any difference for
	// the worse fails.
	Exact bool
}

// ExpectPolicy is what a log must contain.
type ExpectPolicy struct {
	Checkpoints []string // names, in every file that did not end badly
}

// A Share is a ratio: 0.95, written 95% or 0.95.
type Share float64

// An Amount is a number of bytes, written 64KiB or 1048576.
type Amount struct{ Bytes int64 }

// DefaultPolicy gates on every check but drift, throughput and clean start, which are mostly
// signs of something else. Its limits are those that the project documents.
func DefaultPolicy() Policy {
	p := Policy{
		Gate: slices.DeleteFunc(slices.Clone(Checks), func(check string) bool {
			return check == Drift || check == Throughput || check == CleanStart
		}),
		Recovery:   RecoveryPolicy{Min: 0.95, Floor: Amount{record.MiB}},
		Peak:       PeakPolicy{Notice: 0.70, Max: 0.85},
		MaxGrowth:  map[string]float64{},
		Leak:       LeakPolicy{MinFiles: shape.LeastFiles},
		Drift:      DriftPolicy{MaxChange: 0.05},
		CleanStart: CleanStartPolicy{MaxUsed: Amount{512 * record.MiB}, MaxLeft: Amount{64 * record.MiB}},
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

// ParsePolicy reads a policy from YAML. Keys that the file leaves out are as in [DefaultPolicy].
// The error lists every mistake with its line and column; name is the name of the file in it.
func ParsePolicy(src []byte, name string) (Policy, error) {
	policy := DefaultPolicy()
	r := policyReader{strictyaml.New(name)}
	if body := r.Document(src, "", ""); body != nil { // an empty one asks for nothing
		r.Mapping(body, r.policy(&policy))
	}
	if err := r.Err(); err != nil {
		return Policy{}, err
	}
	return policy, nil
}

type policyReader struct{ *strictyaml.Reader }

// policy returns the keys of a policy file and what reads them.
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
		"gate": checks(&p.Gate), "require": checks(&p.Require),
		"dialects": func(n ast.Node) { p.Dialects = table.Load(r.Reader, n, dialect.Names()) },
	}
	for key, fields := range parts {
		all[key] = func(n ast.Node) { r.Mapping(n, fields) }
	}
	return all
}

// maxGrowth reads how much a ledger may grow from one file to the next.
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
