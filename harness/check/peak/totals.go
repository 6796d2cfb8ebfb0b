package peak

import (
	"cmp"
	"fmt"
	"slices"

	"vramsoak/parser/dialect/smi"
	"vramsoak/parser/record"
)

// A total is the size of a device's memory, as a log gives it.
type total struct {
	size record.Size
	// driver says that the device goes by the driver's number, which may be another than the
	// program's.
	driver bool
	pos    record.Position
}

// totalsMax bounds the different totals of a device in a run. More than one tells nothing anyway.
const totalsMax = 8

// addTotal notes a total that a checkpoint gives.
func (r *run) addTotal(size record.Size, c *record.Checkpoint) {
	if len(r.totals) > 0 && r.totals[0].size == size && !r.totals[0].driver {
		return // as nearly always
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

// sameDevice reports whether two totals may be of the same device: PyTorch's is less than the
// driver's by a few hundred MiB.
func sameDevice(a, b record.Size) bool {
	return 20*(max(a.Low(), b.Low())-min(a.High(), b.High())) <= max(a.High(), b.High())
}

// oneDevice reports whether all totals may be of one device, and returns two that are not.
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

// An ownTotal is the total of the device that the readings of a run are of that have none beside
// them.
type ownTotal struct {
	total     record.Size // the one with the most digits
	low, high int64       // of all that may be meant
	known     bool
	why       string // it is not known
}

// findTotal finds the total of a lane in a run. all are the totals by the driver's numbers of all
// devices of the run, and several says that the run spans more devices than a machine of the log
// has.
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

// Total returns the device's total in a run, as far as its own readings tell; 0 where they do not.
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
