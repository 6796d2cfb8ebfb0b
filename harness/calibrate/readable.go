package calibrate

import (
	"fmt"
	"math"
	"strconv"
)

// amounts are the limits in bytes that are proposed, from 1 KiB to 1 TiB: 4, 5, 6 and 7 times the powers of two, so that each is
// at most a quarter above the one before it.
var amounts = func() (all []float64) {
	for power := 256.0; power < 1<<38; power *= 2 {
		for quarters := 4.0; quarters < 8; quarters++ {
			if amount := quarters * power; math.Mod(amount, 1024) == 0 {
				all = append(all, amount)
			}
		}
	}
	return all
}()

// shares are the limits that are proposed as a share, from 0.1 % to 100 %.
var shares = func() (all []float64) {
	for _, power := range []float64{0.001, 0.01, 0.1} {
		for _, digits := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
			all = append(all, digits*power)
		}
	}
	return append(all, 1)
}()

// readable is the least of the readable limits that is at least v; ok is false where none is.
func readable(limits []float64, v float64) (limit float64, ok bool) {
	for _, limit := range limits {
		if limit >= v {
			return limit, true
		}
	}
	return 0, false
}

// amountText is an amount as a policy file has it: "768KiB".
func amountText(bytes float64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	n, unit := int64(bytes)/1024, 0
	for n%1024 == 0 && n > 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, units[unit])
}

// shareText is a share as a policy file has it: "1.5%".
func shareText(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }
