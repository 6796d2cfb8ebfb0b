package snapshot

import (
	"encoding/binary"
	"math"
	"testing"
)

// A dictOf is a dict, as a slice of alternating keys and values.
type dictOf []any

// pickled writes a value as PyTorch's own pickler does (torch/csrc/jit/serialization/pickler.cpp),
// which out-of-memory observers use: protocol 2, integers in one, two, four or eight bytes, and no
// memo for values that occur once.
func pickled(t testing.TB, v any) []byte {
	t.Helper()
	return append(appendValue(t, []byte{opProto, 2}, v), opStop)
}

func appendValue(t testing.TB, b []byte, v any) []byte {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return append(b, opNone)
	case bool:
		if v {
			return append(b, opNewTrue)
		}
		return append(b, opNewFalse)
	case int:
		switch {
		case v >= 0 && v <= math.MaxUint8:
			return append(b, opBinInt1, byte(v))
		case v >= 0 && v <= math.MaxUint16:
			return binary.LittleEndian.AppendUint16(append(b, opBinInt2), uint16(v))
		case v >= math.MinInt32 && v <= math.MaxInt32:
			return binary.LittleEndian.AppendUint32(append(b, opBinInt), uint32(v))
		}
		return binary.LittleEndian.AppendUint64(append(b, opLong1, 8), uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(append(b, opBinFloat), math.Float64bits(v))
	case string:
		return append(binary.LittleEndian.AppendUint32(append(b, opBinUnicode), uint32(len(v))), v...)
	case []any:
		b = append(b, opEmptyList, opMark)
		for _, item := range v {
			b = appendValue(t, b, item)
		}
		return append(b, opAppends)
	case [2]int:
		return append(appendValue(t, appendValue(t, b, v[0]), v[1]), opTuple2)
	case dictOf:
		b = append(b, opEmptyDict, opMark)
		for _, item := range v {
			b = appendValue(t, b, item)
		}
		return append(b, opSetItems)
	}
	t.Fatalf("no pickle of a %T", v)
	return nil
}
