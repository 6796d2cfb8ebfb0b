package meter

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/strictyaml"
)

// All is the value of --gpus for every GPU of the machine, except GPUs that [VisibleDevices] hides.
const All = "all"

// A Machine describes the GPUs of a machine, as the driver reports them.
type Machine struct {
	Driver  bool
	Count   int
	Visible []int // GPUs that VisibleDevices shows to a pipeline
}

// Choose returns the driver's numbers of the GPUs that a value of --gpus names, such as "0,1" or
// "all". Without a driver, Choose cannot check the numbers and returns them as they are.
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
			wrong("numbers of GPUs with commas between them, or all, found %q%s", entry,
				strictyaml.Meant(entry, []string{All}))
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
