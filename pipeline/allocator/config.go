package allocator

import (
	"fmt"
	"math"
	"strconv"
)

// A Config is what PYTORCH_CUDA_ALLOC_CONF says. The zero Config is the default.
type Config struct {
	MaxSplitSize int64 // bytes: blocks of this or more are not split; 0: no limit
	// Bytes that such a block may be larger than the request; 0: the default, 20 MiB.
	MaxNonSplitRounding int64
	// Share of what the memory fraction allows, beyond which unused segments are given back; 0:
	// never.
	GarbageCollectionThreshold float64
	ExpandableSegments         bool
	// For sizes from 1 MiB, 2 MiB, 4 MiB ...; 0: sizes are rounded to 512 bytes.
	RoundupPower2Divisions [roundupIntervals]int64
}

const (
	roundupIntervals = 16 // kRoundUpPowerOfTwoIntervals, from 1 MiB to 64 GiB
	roundupStart     = 20 // 1 MiB is 1 << 20
	unlimited        = math.MaxInt64
)

// ParseConfig reads a value of PYTORCH_CUDA_ALLOC_CONF. It takes what PyTorch takes, but for the
// backend cudaMallocAsync, and refuses what PyTorch refuses; the error is a [*ConfigError].
func ParseConfig(conf string) (Config, error) {
	var c Config
	err := c.parse(conf, true)
	return c, err
}

// A ConfigError is a mistake in a value of PYTORCH_CUDA_ALLOC_CONF.
type ConfigError struct {
	Offset int    // in bytes, of the mistake
	Found  string // what is there; empty at the end
	// PyTorch's message; "stoi", "stoul" and "stod" are what it says of what is no number, or too
	// large a one.
	Text string
}

func (e *ConfigError) Error() string {
	text := e.Text
	switch text {
	case "stoi", "stoul":
		text = "expected a whole number below 2^31 (PyTorch says only " + text + ")"
	case "stod":
		text = "expected a number between 0 and 1 (PyTorch says only stod)"
	}
	found := "found " + strconv.Quote(e.Found)
	if e.Found == "" {
		found = "found the end"
	}
	return fmt.Sprintf("PYTORCH_CUDA_ALLOC_CONF, byte %d: %s; %s", e.Offset, text, found)
}

// limits is a Config as the allocator uses it.
type limits struct {
	maxSplit  int64 // unlimited: none
	slack     int64
	rounds    bool
	divisions [roundupIntervals]int64
}

func (c Config) limits() limits {
	l := limits{maxSplit: unlimited, slack: largeBuffer, divisions: c.RoundupPower2Divisions}
	if c.MaxSplitSize != 0 {
		l.maxSplit = c.MaxSplitSize
	}
	if c.MaxNonSplitRounding != 0 {
		l.slack = c.MaxNonSplitRounding
	}
	l.rounds = c.RoundupPower2Divisions != [roundupIntervals]int64{}
	return l
}
