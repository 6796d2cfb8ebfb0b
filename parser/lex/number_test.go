package lex

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"vramsoak/parser/record"
)

// TestTimes: [Decimal.Times] returns the nearest whole byte, and the resolution rounded down.
// This holds for the numbers that it computes with integers and for those that it computes with
// floats.
func TestTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		n := Decimal{random.Int64N(1 << (1 + random.IntN(40))), random.IntN(10)}
		unit := []int64{1, record.KiB, record.MiB, record.GiB, mB, GB}[random.IntN(6)]
		got, ok := n.Times(unit)
		p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Decimals)), nil)
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(n.Digits), big.NewInt(unit)), p)
		diff := new(big.Rat).Sub(exact, new(big.Rat).SetInt64(got.Bytes))
		// Rounding to a whole byte changes the size by at most half a byte, and rounding to a
		// float64 by one part in 2^52.
		limit := new(big.Rat).SetFloat64(0.5 + float64(got.Bytes)/(1<<52))
		if !ok && exact.Cmp(new(big.Rat).SetInt64(1<<61)) > 0 {
			continue
		}
		if !ok || diff.Abs(diff).Cmp(limit) > 0 {
			t.Fatalf("%d with %d decimals of %d bytes: got %d, want %s", n.Digits, n.Decimals, unit,
				got.Bytes, exact.FloatString(3))
		}
		want := int64(0)
		if unit > 1 {
			want = new(big.Int).Quo(big.NewInt(unit/2), p).Int64()
		}
		if d := got.Resolution - want; d < 0 || d > 1 {
			t.Fatalf("resolution of %s of %d bytes: got %d, want %d", strconv.Itoa(n.Decimals), unit,
				got.Resolution, want)
		}
	}
}

// TestExponents: a number with an exponent has the resolution of its last printed digit.
func TestExponents(t *testing.T) {
	for _, c := range []struct {
		text string
		want record.Size
		ok   bool
	}{
		{"3.18e+04", record.Size{Bytes: 31_800 << 20, Resolution: 50 << 20}, true},
		{"1.00e+05", record.Size{Bytes: 100_000 << 20, Resolution: 500 << 20}, true},
		{"3.18e+02", record.Size{Bytes: 318 << 20, Resolution: 1 << 19}, true},
		{"9.50e+00", record.Size{Bytes: 19 << 19, Resolution: 5242}, true},
		{"0.00e+00", record.Size{Resolution: 5242}, true},
		{"5.00e-01", record.Size{Bytes: 1 << 19, Resolution: 524}, true},
		{"3.18e+99", record.Size{}, false},
		{"3.18e+999999999", record.Size{}, false},
	} {
		n, rest, ok := CutFloat([]byte(c.text))
		if !ok || len(rest) > 0 {
			t.Errorf("%s: cut to %v, rest %q", c.text, n, rest)
			continue
		}
		if got, ok := n.Rounded(0).Times(record.MiB); got != c.want || ok != c.ok {
			t.Errorf("%s MiB: got %v %v, want %v %v", c.text, got, ok, c.want, c.ok)
		}
	}
}
