package smi

import (
	"strings"
	"time"

	"vramsoak/parser/lex"
	"vramsoak/parser/scan"
)

// A csvPoll is the place of the next row in a poll. In each poll, a program prints one row for
// each device, in the same order.
type csvPoll struct {
	size int           // rows in a poll; 0 before the first row
	gap  time.Duration // time between polls
	next int           // position of the next row
	last time.Time
}

const (
	maxPollRows    = 64                     // rows that are searched for the end of the first poll
	maxPollDevices = 16                     // most devices of a machine
	maxRowGap      = 100 * time.Millisecond // longest time between two rows of one poll
)

// device returns the number of the device that a row is about. If rows do not name their device
// and nvidia-smi lists several devices, the order of the devices is the same in each poll. The
// rows of one poll are some milliseconds apart, and polls are further apart:
//
//	2024/01/01 10:00:00.123, 10 MiB
//	2024/01/01 10:00:00.125, 20 MiB
//	2024/01/01 10:00:01.126, 10 MiB
//	2024/01/01 10:00:01.128, 20 MiB
//
// If each poll repeats the header, the header separates the polls. If the rows have no time and
// the header is not repeated, all rows are of device 0. ok is false if the column of the index has
// no number.
func (h *csvHead) device(l *scan.Line, t *csvTables, fields [][]byte) (number int, ok bool) {
	number = -1
	named := h.index >= 0
	if named {
		if n, ok := deviceNumber(fields[h.index]); ok && n < maxCSVIDs {
			number = n
		}
	}
	for _, i := range h.ids {
		if !isAbsent(fields[i]) {
			named = true
			number = t.numberOf(fields[i], number)
		}
	}
	if named {
		return number, number >= 0
	}
	if h.gpu >= 0 {
		if n, ok := deviceNumber(fields[h.gpu]); ok && n < maxCSVIDs {
			return n, true
		}
	}
	return h.pollPosition(l, fields), true
}

// deviceNumber returns the number in the name of a device: "0", "card0", "cuda:0".
func deviceNumber(f []byte) (n int, ok bool) {
	for _, prefix := range []string{"card", "cuda:", "GPU ", "gpu"} {
		if rest, cut := lex.CutPrefix(f, prefix); cut {
			f = rest
			break
		}
	}
	n, rest, ok := lex.CutInt(f)
	return n, ok && len(rest) == 0
}

// numberOf returns the number of the device with an id. This is the parameter number, unless
// number is -1. Then it is the number that the id had before, or else the next free number. It is
// -1 if the log has too many ids, or if the id is only the beginning of one that was read before.
func (t *csvTables) numberOf(id []byte, number int) int {
	kind := 0
	if len(busID(id)) > 0 {
		kind = 1
	}
	n, known := t.ids[string(id)]
	switch {
	case known && number < 0:
		return n
	case !known && len(t.ids) >= maxCSVIDs:
		return number
	}
	if number < 0 {
		for other := range t.ids {
			if strings.HasPrefix(other, string(id)) {
				return -1
			}
		}
		number = t.next[kind]
	}
	t.ids[string(id)] = number
	t.next[kind] = max(t.next[kind], number+1)
	return number
}

// pollPosition returns the row's position in its poll, from 0.
func (h *csvHead) pollPosition(l *scan.Line, fields [][]byte) int {
	if h.pid >= 0 || h.process >= 0 {
		return 0
	}
	p := &h.poll
	if p.size == 0 {
		h.measurePoll(l, fields)
	}
	var now time.Time
	if h.time >= 0 {
		now, _ = csvTime(fields[h.time])
	}
	if p.next == p.size || !p.last.IsZero() && now.Sub(p.last)*4 >= p.gap {
		p.next = 0
	}
	at := p.next
	p.next, p.last = p.next+1, now
	return at
}

// measurePoll sets the number of rows in a poll, and the time between polls. It looks at the
// first row and the rows that follow it.
func (h *csvHead) measurePoll(l *scan.Line, fields [][]byte) {
	h.poll.size = 1
	rows, again := 0, false
	var times []time.Time
	note := func(fields [][]byte) {
		if h.time >= 0 {
			t, ok := csvTime(fields[h.time])
			if !ok {
				return
			}
			if t.Nanosecond() != 0 { // times in whole seconds may be equal in several polls
				times = append(times, t)
			}
		}
		rows++
	}
	note(fields)
	for n := 1; n < maxPollRows && !again; n++ {
		text, ok := l.Peek(n)
		if !ok {
			break
		}
		if again = h.isRepeated(text); again || len(text) > maxCSVRow {
			continue
		}
		text = h.body(text)
		if fields, ok := h.cut(csvRow{text, splitCSV(text)}); ok {
			note(fields)
		}
	}
	switch {
	case rows > 0 && len(times) == rows:
		h.poll.size, h.poll.gap = pollSize(times)
	case again && rows > 0 && rows <= maxPollDevices:
		h.poll.size, h.poll.gap = rows, 24*time.Hour
	}
}

// pollSize returns the number of rows in a poll, and the time between polls. The parameter times
// holds the times of successive rows.
func pollSize(times []time.Time) (size int, gap time.Duration) {
	quick := true
	for i := 1; i < len(times); i++ {
		d := times[i].Sub(times[i-1])
		gap = max(gap, d)
		quick = quick && d >= 0 && d < maxRowGap
	}
	if quick && len(times) <= maxPollDevices {
		return len(times), 4 * maxRowGap
	}
	for i := 1; i < len(times); i++ {
		far := times[i].Sub(times[i-1])*4 >= gap
		if far && size == 0 {
			size = i
		}
		if size > 0 && far != (i%size == 0) {
			return 1, gap
		}
	}
	return max(1, size), gap
}
