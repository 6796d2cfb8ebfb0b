package record

import "testing"

// TestReadingEqual: SameSizes is true for readings with the same sizes, even if these were set in
// a different order.
func TestReadingEqual(t *testing.T) {
	var a, b Reading
	for q := range Quantities {
		a.Set(q, Size{Bytes: int64(q)})
		last := Quantities - 1 - q
		b.Set(last, Size{Bytes: int64(last)})
	}
	if !a.SameSizes(&b) {
		t.Errorf("%v and %v differ, want equal", a, b)
	}
	copied := a
	copied.Set(Buffer, Size{Bytes: 1})
	if size, _ := a.Get(Buffer); size.Bytes != int64(Buffer) {
		t.Errorf("setting a size of the copy changed the original to %v", size)
	}
	if a.SameSizes(&copied) || a.SameSizes(&Reading{}) {
		t.Error("readings with different values are equal")
	}
}
