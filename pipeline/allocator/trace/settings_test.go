package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"vramsoak/pipeline/allocator"
)

// Settings are the allocator's settings and the card of a replay. The fields from Streams on say
// what a random trace may contain besides allocations on one stream.
type Settings struct {
	Conf          string // PYTORCH_CUDA_ALLOC_CONF
	Capacity      int64  // bytes
	Overhead      int64  // bytes
	Placement     allocator.Placement
	PendingEvents bool

	Streams       int // at least 1
	RecordStreams bool
	Fractions     bool     // memory fractions
	Configures    []string // settings that are changed at run time
	Segments      bool     // the lines of segments are compared too
}

// A feature is an aspect of the settings that can be tried alone and together with others.
// TestOracle prints a table with a line for each feature.
const (
	maxSplit     = "max_split_size_mb"
	maxRounding  = "max_non_split_rounding_mb"
	collection   = "garbage_collection_threshold"
	divisions    = "roundup_power2_divisions"
	divisionList = "roundup_power2_divisions, list"
	expandable   = "expandable_segments"
	otherOptions = "options that change nothing"
	switching    = "settings at run time"
	fractions    = "memory fraction"
	streams      = "several streams"
	recording    = "recordStream"
	pending      = "pending events"
	overhead     = "overhead"
	upwards      = "placement up"
	downwards    = "placement down"
)

// Features are the names of all features, in the order of TestOracle's table.
var Features = []string{
	maxSplit, maxRounding, collection, divisions, divisionList, expandable, otherOptions, switching,
	fractions, streams, recording,
	pending, overhead, upwards, downwards,
}

// Draw draws settings, and returns the names of their features. Seed 0 has no feature. Each of the
// next len(Features) seeds has one feature, and so has every third of the further seeds. The other
// seeds have several features at once.
func Draw(seed uint64) (Settings, []string) {
	r := rand.New(rand.NewPCG(seed, 0x5e77165))
	n := uint64(len(Features))
	var features []string
	switch {
	case seed == 0: // PyTorch's defaults
	case seed <= n:
		features = Features[seed-1 : seed]
	case seed%3 == 0:
		features = []string{Features[seed/3%n]}
	default:
		for _, f := range Features {
			if r.Float64() < 0.3 {
				features = append(features, f)
			}
		}
	}
	features = slices.Clone(features)
	has := func(f string) bool { return slices.Contains(features, f) }
	// The first feature of each pair has no effect without the second.
	if has(collection) && !has(fractions) {
		features = append(features, fractions)
	}
	if has(pending) && !has(recording) {
		features = append(features, recording)
	}
	if has(recording) && !has(streams) {
		features = append(features, streams)
	}
	if has(upwards) && has(downwards) {
		features = slices.DeleteFunc(features, func(f string) bool { return f == upwards })
	}

	s := Settings{
		Capacity: capacity(r), Streams: 1, Segments: r.IntN(2) == 0, Conf: drawConf(r, has),
		RecordStreams: has(recording), PendingEvents: has(pending), Fractions: has(fractions),
	}
	if has(streams) {
		s.Streams = 2 + r.IntN(4)
	}
	if has(overhead) {
		s.Overhead = r.Int64N(s.Capacity / 3)
	}
	switch {
	case has(upwards):
		s.Placement = allocator.Up
	case has(downwards):
		s.Placement = allocator.Down
	}
	if has(switching) {
		for range 2 + r.IntN(4) {
			some := Features[:7]
			conf := drawConf(r, func(f string) bool {
				return r.IntN(3) == 0 && slices.Contains(some, f)
			})
			if r.IntN(3) == 0 {
				conf = join(conf, "expandable_segments:"+pick(r, "True", "False"))
			}
			if conf != "" {
				s.Configures = append(s.Configures, conf)
			}
		}
	}
	return s, features
}

// capacity returns the size of a card in bytes, from 64 MiB, with which memory runs out at once, to
// 24 GiB. Half of the sizes are not whole MiB.
func capacity(r *rand.Rand) int64 {
	mib := math.Exp2(6 + 8.6*r.Float64())
	if r.IntN(2) == 0 {
		return int64(mib) << 20
	}
	return int64(mib * (1 << 20))
}

// drawConf returns a value of PYTORCH_CUDA_ALLOC_CONF with random values for the features for which
// has returns true.
func drawConf(r *rand.Rand, has func(string) bool) string {
	conf := ""
	if has(maxSplit) {
		conf = join(conf, fmt.Sprintf("max_split_size_mb:%d", 21+int(math.Exp2(9*r.Float64()))))
	}
	if has(maxRounding) {
		conf = join(conf, fmt.Sprintf("max_non_split_rounding_mb:%d",
			21+int(math.Exp2(8*r.Float64()))))
	}
	if has(collection) {
		conf = join(conf, fmt.Sprintf("garbage_collection_threshold:%.2f", 0.3+0.65*r.Float64()))
	}
	if has(divisionList) {
		var list []string
		for size := 256 >> r.IntN(3); size <= 1<<10; size *= 2 << r.IntN(2) {
			list = append(list, fmt.Sprintf("%d:%d", size, 1<<r.IntN(5)))
		}
		if r.IntN(2) == 0 {
			list = append(list, fmt.Sprintf(">:%d", 1<<r.IntN(5)))
		}
		conf = join(conf, "roundup_power2_divisions:["+strings.Join(list, ",")+"]")
	} else if has(divisions) {
		conf = join(conf, "roundup_power2_divisions:"+strconv.Itoa(1<<r.IntN(6)))
	}
	if has(expandable) {
		conf = join(conf, "expandable_segments:True")
	}
	if has(otherOptions) {
		conf = join(conf, pick(r, "backend:native", "release_lock_on_cudamalloc:True",
			"pinned_use_cuda_host_register:True",
			"pinned_use_background_threads:True", "pinned_num_register_threads:8",
			"expandable_segments:False"))
	}
	return conf
}

func join(conf, option string) string {
	if conf == "" {
		return option
	}
	return conf + "," + option
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
