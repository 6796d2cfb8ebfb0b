package allocator

import (
	"fmt"
	"math"
	"strconv"
)

// A Config has the settings of a value of PYTORCH_CUDA_ALLOC_CONF. The zero Config has PyTorch's
// defaults.
type Config struct {
	MaxSplitSize int64 // bytes: blocks of this or more are not split; 0: no limit
	// MaxNonSplitRounding is the number of bytes by which a block of MaxSplitSize or more may be
	// larger than the request. 0 means the default, 20 MiB.
	MaxNonSplitRounding int64
	// If more memory than GarbageCollectionThreshold is reserved, unused segments are released. It
	// is a fraction of the limit that SetMemoryFraction set; 0: never.
	GarbageCollectionThreshold float64
	ExpandableSegments         bool
	// RoundupPower2Divisions has the number of parts into which each range of sizes is divided. The
	// ranges are sizes below 2 MiB, from 2 to 4 MiB, from 4 to 8 MiB and so on. A size is rounded
	// up to the end of its part. With 0 it is rounded up to a multiple of 512 bytes.
	RoundupPower2Divisions [roundupIntervals]int64
}

const (
	roundupIntervals = 16 // kRoundUpPowerOfTwoIntervals, from 1 MiB to 64 GiB
	roundupStart     = 20 // 1 MiB is 1 << 20
	unlimited        = math.MaxInt64
)

// ParseConfig reads a value of PYTORCH_CUDA_ALLOC_CONF. It accepts the values that PyTorch accepts,
// except those with the backend cudaMallocAsync. The error is a [*ConfigError].
func ParseConfig(conf string) (Config, error) {
	var c Config
	err := c.parse(conf, true)
	return c, err
}

// A ConfigError is a mistake in a value of PYTORCH_CUDA_ALLOC_CONF.
type ConfigError struct {
	Offset int    // of the mistake, in bytes
	Found  string // the text there; empty at the end
	// Text is PyTorch's message. For a text that is not a number, or a number that is too large,
	// Text is only "stoi", "stoul" or "stod".
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

// limits are the settings in the form that the allocator uses.
type limits struct {
	maxSplit  int64 // unlimited if there is no limit
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
