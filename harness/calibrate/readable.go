package calibrate

import (
	"fmt"
	"math"
	"strconv"
)

// amounts holds the limits in bytes that a report may propose, from 1 KiB to 1 TiB. They are 4, 5,
// 6 and 7 times powers of two, so each is at most a quarter larger than the one before.
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

// fractions holds the relative limits that a report may propose, from 0.1 % to 100 %.
var fractions = func() (all []float64) {
	for _, power := range []float64{0.001, 0.01, 0.1} {
		for _, digits := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
			all = append(all, digits*power)
		}
	}
	return append(all, 1)
}()

// readable returns the smallest of the limits that is at least v. ok is false if all limits are
// smaller than v.
func readable(limits []float64, v float64) (limit float64, ok bool) {
	for _, limit := range limits {
		if limit >= v {
			return limit, true
		}
	}
	return 0, false
}

// amountText returns an amount as a policy file has it: "768KiB".
func amountText(bytes float64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	n, unit := int64(bytes)/1024, 0
	for n%1024 == 0 && n > 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, units[unit])
}

// percent returns a fraction as a policy file has it: "1.5%".
func percent(fraction float64) string { return strconv.FormatFloat(100*fraction, 'g', 3, 64) + "%" }
