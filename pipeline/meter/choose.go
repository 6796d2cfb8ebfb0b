package meter

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// All is the value of --gpus for every GPU of the machine, except those that [VisibleDevices]
// hides.
const All = "all"

// A Machine lists the GPUs of a machine that the driver reports.
type Machine struct {
	Driver  bool
	Count   int
	Visible []int // those that VisibleDevices shows to a pipeline
}

// Choose returns the GPUs that a value of --gpus names, such as "0,1" or "all", by the driver's
// numbers. Without a driver it cannot check the numbers and returns them as they are.
func Choose(text string, there Machine) ([]int, error) {
	if text == All {
		switch {
		case !there.Driver:
			return nil, errors.New("--gpus all: there is no NVIDIA driver to tell which GPUs " +
				"there are; name them, as in --gpus 0,1")
		case len(there.Visible) == 0:
			return nil, fmt.Errorf("--gpus all: expected GPUs, found none that the driver knows "+
				"and %s shows", VisibleDevices)
		}
		return there.Visible, nil
	}
	var gpus []int
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("--gpus %s: expected "+format, append([]any{text},
			args...)...))
	}
	for entry := range strings.SplitSeq(text, ",") {
		gpu, err := strconv.ParseUint(strings.TrimSpace(entry), 10, 16)
		switch n := int(gpu); {
		case err != nil:
			wrong("numbers of GPUs with commas between them, or all, found %q", entry)
		case slices.Contains(gpus, n):
			wrong("each GPU once, found %d again", n)
		case there.Driver && n >= there.Count:
			wrong("GPUs that the driver knows (%d, counted from 0), found %d", there.Count, n)
		case there.Driver && !slices.Contains(there.Visible, n):
			wrong("GPUs that %s=%s shows, found %d; choose others, or unset it", VisibleDevices,
				os.Getenv(VisibleDevices), n)
		default:
			gpus = append(gpus, n)
		}
	}
	return gpus, errors.Join(errs...)
}
