package simulator

import (
	"fmt"
	"io"
	"time"

	"vramsoak/parser/record"
	"vramsoak/pipeline/allocator"
)

// A logger writes the lines of the simulated pipeline, each with one call of Write.
type logger struct {
	w    io.Writer // nil: no lines
	at   func() time.Time
	line []byte
	err  error
}

func (l *logger) write(appendLine func([]byte) []byte) {
	if l.w == nil || l.err != nil {
		return
	}
	l.line = append(appendLine(l.line[:0]), '\n')
	if _, err := l.w.Write(l.line); err != nil {
		l.err = fmt.Errorf("writing the log: %w", err)
	}
}

// text writes a line of text after the time.
func (l *logger) text(format string, args ...any) {
	l.write(func(b []byte) []byte {
		b = append(l.at().AppendFormat(b, record.TimeLayout), ' ')
		return fmt.Appendf(b, format, args...)
	})
}

func (l *logger) head() record.Header { return record.Header{Time: l.at()} }

// The thresholds and texts of the warnings are the same as in package pipeline.
const (
	criticalShare = 0.85
	elevatedShare = 0.70
)

// checkpoint writes a checkpoint line with the memory on the card. holds is the number of bytes
// that the cleanup after it should free; it is nil if no cleanup follows.
func (p *process) checkpoint(name string, holds *int64) {
	p.charge()
	peak := p.notePeak()
	if p.log.w == nil {
		return
	}
	level, total := p.level(), p.scenario.GPU.Total
	c := record.Checkpoint{Header: p.log.head(), Name: name}
	c.Set(record.Allocated, record.Exact(level.Allocated))
	c.Set(record.Reserved, record.Exact(level.Reserved))
	c.Set(record.Total, record.Exact(total))
	c.Set(record.Peak, record.Exact(peak.Allocated))
	c.Set(record.Used, record.Exact(level.Used-p.occupied)) // of this process
	if pinned, ok := p.pinnedBytes(); ok {
		c.Set(record.Pinned, record.Exact(pinned))
	}
	if holds != nil {
		c.Set(record.Holds, record.Exact(*holds))
	}
	p.log.write(c.AppendLine)
	switch share := float64(level.Allocated) / float64(total); {
	case share > criticalShare:
		p.log.text("WARNING: GPU memory usage is critically high (%.1f%%). Consider reducing "+
			"batch size or using a smaller model.", 100*share)
	case share > elevatedShare:
		p.log.text("NOTICE: GPU memory usage is elevated (%.1f%%). Monitor for potential OOM "+
			"conditions.", 100*share)
	}
}

// segmentMap returns all segments and blocks of the allocator. when names the moment, such as "file
// end".
func (p *process) segmentMap(when string) record.SegmentMap {
	m := record.SegmentMap{
		Header: p.log.head(), Name: when, Total: p.scenario.GPU.Total,
		Used: p.level().Used,
	}
	if f := p.scenario.MemoryFraction; f > 0 && f < 1 {
		m.Allowed = int64(f * float64(m.Total))
	}
	for _, s := range p.alloc.Snapshot() {
		segment := record.Segment{
			Address: s.Address, Size: s.Size, Small: !s.Large, Expandable: s.Expandable,
			Stream: uint64(s.Stream),
		}
		for _, b := range s.Blocks {
			segment.Blocks = append(segment.Blocks, record.Block{
				Size:  b.Size,
				State: blockState(b.State),
			})
		}
		m.Segments = append(m.Segments, segment)
	}
	return m
}

func blockState(s allocator.BlockState) record.BlockState {
	switch s {
	case allocator.Allocated:
		return record.BlockAllocated
	case allocator.PendingFree:
		return record.BlockPending
	default:
		return record.BlockFree
	}
}
