package snapshot

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
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
	case *big.Int:
		return appendLong(b, v)
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

// appendLong appends an integer as Python's pickle does: LONG1 with the fewest bytes of two's
// complement, or LONG4 if these are more than 255.
func appendLong(b []byte, n *big.Int) []byte {
	size := n.BitLen()/8 + 1
	whole := n
	if n.Sign() < 0 {
		whole = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	digits := whole.FillBytes(make([]byte, size))
	slices.Reverse(digits)
	if size > math.MaxUint8 {
		b = binary.LittleEndian.AppendUint32(append(b, opLong4), uint32(size))
	} else {
		b = append(b, opLong1, byte(size))
	}
	return append(b, digits...)
}

// unsigned returns a number as pybind11 makes it of a uint64_t.
func unsigned(n uint64) *big.Int { return new(big.Int).SetUint64(n) }
