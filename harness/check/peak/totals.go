package peak

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
)

// A total is the size of a device's memory, as a log prints it.
type total struct {
	size record.Size
	// driver is set if the log names the device by the driver's number. The program may use another
	// number for the same device.
	driver bool
	pos    record.Position
}

// totalsMax is how many different totals of a device in a run are kept. Two that differ are already
// too many to choose from.
const totalsMax = 8

// addTotal records the device's total that a checkpoint prints.
func (r *run) addTotal(size record.Size, c *record.Checkpoint) {
	if len(r.totals) > 0 && r.totals[0].size == size && !r.totals[0].driver {
		return // nearly all readings print the same total
	}
	r.note(total{size, smi.DriverNumbers(c), c.Pos})
}

func (r *run) note(t total) { r.totals = addTotal(r.totals, t) }

func addTotal(totals []total, t total) []total {
	if t.size.Bytes <= 0 || len(totals) >= totalsMax ||
		slices.ContainsFunc(totals, func(o total) bool {
			return o.size == t.size && o.driver == t.driver
		}) {
		return totals
	}
	return append(totals, t)
}

// sameDevice reports whether two totals may belong to the same device. PyTorch's total is a few
// hundred MiB below the driver's, so differences of up to 5 % are allowed.
func sameDevice(a, b record.Size) bool {
	return 20*(max(a.Low(), b.Low())-min(a.High(), b.High())) <= max(a.High(), b.High())
}

// oneDevice reports whether all totals may belong to one device. If not, it returns two of them
// that differ.
func oneDevice(totals []total) (a, b total, ok bool) {
	for i, a := range totals {
		for _, b := range totals[i+1:] {
			if !sameDevice(a.size, b.size) {
				return a, b, false
			}
		}
	}
	return a, b, true
}

// An ownTotal is the device's total that is used for the readings of a run that print no total.
type ownTotal struct {
	total     record.Size // the total with the most digits
	low, high int64       // bounds over all totals of the device
	known     bool
	why       string // why the total is not known
}

// findTotal returns the total of a device, as one rank sees it, in a run. The parameter totals
// holds the totals that the rank's log gives for the device. The parameter all holds the totals of
// all devices of the run that the log names by the driver's numbers. Set several if the run has
// more ranks than the log has devices, because it then spans several machines.
func findTotal(totals, all []total, several bool) (of ownTotal) {
	byDriver := !slices.ContainsFunc(totals, func(t total) bool { return !t.driver })
	switch a, b, one := oneDevice(totals); {
	case len(totals) == 0:
		return of
	case !one:
		of.why = fmt.Sprintf("the log gives several totals for it (%s in line %d, %s in line %d)",
			a.size, a.pos.Line, b.size, b.pos.Line)
		return of
	case byDriver && several:
		of.why = fmt.Sprintf("the log has more ranks than the machine of its total (%s in line %d) has "+
			"devices, and does not say which ranks run there", totals[0].size, totals[0].pos.Line)
		return of
	}
	if a, b, one := oneDevice(all); byDriver && !one {
		of.why = fmt.Sprintf("the devices differ (%s in line %d, %s in line %d), and the driver may "+
			"number them otherwise than the program", a.size, a.pos.Line, b.size, b.pos.Line)
		return of
	}
	best := slices.MinFunc(totals, func(a, b total) int {
		return cmp.Compare(a.size.Resolution, b.size.Resolution)
	})
	of = ownTotal{total: best.size, low: best.size.Low(), high: best.size.High(), known: true}
	for _, t := range totals {
		of.low, of.high = min(of.low, t.size.Low()), max(of.high, t.size.High())
	}
	return of
}

// totalOfRanks returns the total of a device for a rank whose readings print none. The parameter
// totals holds those that other ranks, or the driver, print for the device of this number. They may
// be of other machines, so they count only if they agree. For all and several see findTotal.
func totalOfRanks(totals, all []total, several bool) (of ownTotal) {
	if a, b, one := oneDevice(totals); !one {
		of.why = fmt.Sprintf("it prints no total, and those of other ranks differ (%s in line %d, "+
			"%s in line %d)", a.size, a.pos.Line, b.size, b.pos.Line)
		return of
	}
	return findTotal(totals, all, several)
}

// Total returns the device's total in bytes in the run with this number, or 0 if the readings do
// not give it.
func (p *Marks) Total(number int) int64 {
	for i := range p.runs {
		if p.runs[i].number != number {
			continue
		}
		if bytes := findTotal(p.runs[i].totals, nil, false).total.Bytes; bytes != 0 {
			return bytes
		}
	}
	return 0
}
