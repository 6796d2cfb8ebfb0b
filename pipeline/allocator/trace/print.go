package trace

import (
	"strconv"

	"vramsoak/pipeline/allocator"
)

// appendStats appends the allocator's figures, each as its current value and its peak
// ("alloc=1024/2048"), and ends the line.
func appendStats(b []byte, s *allocator.Stats) []byte {
	b = appendStat(b, " alloc=", s.Allocated)
	b = appendStat(b, " resv=", s.Reserved)
	b = appendStat(b, " act=", s.Active)
	b = appendStat(b, " insplit=", s.InactiveSplit)
	b = appendStat(b, " req=", s.Requested)
	b = appendStat(b, " nseg=", s.Segments)
	b = appendStat(b, " nact=", s.ActiveBlocks)
	b = appendStat(b, " ninsplit=", s.InactiveSplits)
	b = strconv.AppendInt(append(b, " retries="...), s.Retries, 10)
	b = strconv.AppendInt(append(b, " ooms="...), s.OOMs, 10)
	b = strconv.AppendInt(append(b, " dmalloc="...), s.DeviceMallocs, 10)
	b = strconv.AppendInt(append(b, " dfree="...), s.DeviceFrees, 10)
	b = strconv.AppendInt(append(b, " oversz="...), s.OversizeAllocations.Current, 10)
	b = strconv.AppendInt(append(b, '/'), s.OversizeSegments.Current, 10)
	return append(b, '\n')
}

func appendStat(b []byte, name string, s allocator.Stat) []byte {
	b = strconv.AppendInt(append(b, name...), s.Current, 10)
	return strconv.AppendInt(append(b, '/'), s.Peak, 10)
}

func appendHex(b []byte, n uint64) []byte { return strconv.AppendUint(append(b, "0x"...), n, 16) }

// appendStream appends a stream as C prints its handle, a pointer: "0x10", or "(nil)" for stream 0.
func appendStream(b []byte, s allocator.Stream) []byte {
	if s == 0 {
		return append(b, "(nil)"...)
	}
	const alignment = 16
	return appendHex(b, uint64(s)*alignment)
}

// appendSegment appends the line of a segment and the lines of its blocks.
func appendSegment(b []byte, s *allocator.Segment) []byte {
	b = appendHex(append(b, "  SEG "...), s.Address)
	b = strconv.AppendInt(append(b, " size="...), s.Size, 10)
	b = strconv.AppendInt(append(b, " alloc="...), s.Allocated, 10)
	b = strconv.AppendInt(append(b, " active="...), s.Active, 10)
	b = appendStream(append(b, " stream="...), s.Stream)
	if s.Large {
		b = append(b, " large"...)
	} else {
		b = append(b, " small"...)
	}
	if s.Expandable {
		b = append(b, " expandable"...)
	}
	b = append(b, '\n')
	offset := int64(0)
	for _, block := range s.Blocks {
		b = strconv.AppendInt(append(b, "    +"...), offset, 10)
		b = strconv.AppendInt(append(b, " size="...), block.Size, 10)
		b = strconv.AppendInt(append(b, " req="...), block.Requested, 10)
		b = append(append(append(b, ' '), block.State.String()...), '\n')
		offset += block.Size
	}
	return b
}
