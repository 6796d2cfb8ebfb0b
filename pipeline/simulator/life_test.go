package simulator_test

import (
	"slices"
	"strings"
	"testing"

	"vramsoak/pipeline/simulator"
)

const mib = int64(1) << 20

// TestKept: of the three tensors of each pass one stays until the end of the run, as under a list
// that keeps a view of it. Two passes a file keep 2 x 20 MiB.
func TestKept(t *testing.T) {
	_, o := run(t, `
gpu: {total: 1GiB, context: 0}
files: {count: 3, seconds: 60}
stages:
  - name: Enrollment
    items: 8
    batch: 4
    tensors: [{name: clips, each: pass, count: 3, size: 20MiB, kept: 1}]
`, simulator.Options{})
	for i, f := range o.PerFile {
		if want := int64(i+1) * 40 * mib; f.Idle.Allocated != want {
			t.Errorf("file %d: %d bytes stay allocated, want %d", i+1, f.Idle.Allocated, want)
		}
	}
	if want := (5*20 + 3*20) * mib; o.Peak.Allocated != want {
		t.Errorf("peak: %d bytes, want %d: those of five passes, and three of the last", o.Peak.Allocated,
			want)
	}
	parts := o.Stages[0].Parts
	kept := simulator.Part{Kind: simulator.Kept, Name: "clips", Bytes: 120 * mib}
	if len(parts) < 2 || parts[0] != kept {
		t.Errorf("parts at the peak: got %v, want 120 MiB of kept clips first", parts)
	}
}

// TestKeptTwice: a tensor that two causes keep is one part of the memory. File 1 keeps 20 MiB of 60
// because of kept, and a fault keeps one of the other two.
func TestKeptTwice(t *testing.T) {
	_, o := run(t, `
gpu: {total: 1GiB, context: 0}
files: {count: 1, seconds: 60}
stages:
  - name: Enrollment
    tensors: [{name: clips, count: 3, size: 20MiB, kept: 1}]
  - name: Rest
    tensors: [{name: rest, size: 30MiB}]
faults: [{keep: clips, share: 50%}]
`, simulator.Options{})
	want := []simulator.Part{
		{Kind: simulator.Kept, Name: "clips", Bytes: 40 * mib},
		{Kind: simulator.Tensors, Name: "rest", Bytes: 30 * mib},
	}
	if got := o.Stages[1].Parts; len(got) < 2 || !slices.Equal(got[:2], want) {
		t.Errorf("got parts %v, want %v", got, want)
	}
}

// TestKeptOfAFailedPass: the pass that fails keeps nothing, because the program did not get to it.
func TestKeptOfAFailedPass(t *testing.T) {
	_, o := run(t, `
gpu: {total: 100MiB, context: 0}
files: {count: 4, seconds: 60}
stages:
  - name: Enrollment
    tensors: [{name: clips, each: pass, size: "file == 2 ? 90 * MiB : 20 * MiB", kept: 1},
              {name: rest, each: pass, size: 30MiB}]
`, simulator.Options{})
	if o.Failed != 1 || !o.PerFile[1].Failed {
		t.Fatalf("%d files failed, want file 2 alone", o.Failed)
	}
	for i, want := range []int64{20, 20, 40, 60} {
		if got := o.PerFile[i].Idle.Allocated; got != want*mib {
			t.Errorf("file %d: %d bytes stay allocated, want %d MiB", i+1, got, want)
		}
	}
}

// TestUntilNext: the variable of a loop holds the old batch until the new one is there. Two batches
// of 40 MiB fit on a card of 100 MiB, two of 60 do not.
func TestUntilNext(t *testing.T) {
	const src = `
gpu: {total: 100MiB, context: 0}
files: {count: 3, seconds: 60}
stages:
  - name: Loading
    tensors: [{name: batch, size: 40MiB, until: next}]
`
	_, o := run(t, src, simulator.Options{})
	if o.Failed > 0 || o.Peak.Allocated != 80*mib {
		t.Errorf("%d failed, peak %d, want none and 80 MiB", o.Failed, o.Peak.Allocated)
	}
	for i, f := range o.PerFile {
		if f.Idle.Allocated != 40*mib {
			t.Errorf("file %d: %d bytes stay allocated, want 40 MiB", i+1, f.Idle.Allocated)
		}
	}
	_, o = run(t, strings.Replace(src, "40MiB", "60MiB", 1), simulator.Options{})
	if o.FirstFailure == nil || o.FirstFailure.File != 2 || o.FirstFailure.Fragmented() {
		t.Errorf("got %+v, want file 2 to fail, not by fragmentation", o.FirstFailure)
	}
}

// TestMissingBesideUntilNext: the new batch of 60 MiB has replaced the old one of 10, and the card
// has 40 MiB for a tensor of 50. So 10 MiB are missing.
func TestMissingBesideUntilNext(t *testing.T) {
	_, o := run(t, `
gpu: {total: 100MiB, context: 0}
files: {count: 2, seconds: 60}
stages:
  - name: Loading
    tensors: [{name: batch, size: "file == 1 ? 10 * MiB : 60 * MiB", until: next},
              {name: work, size: "file == 1 ? 10 * MiB : 50 * MiB", each: pass}]
`, simulator.Options{})
	if f := o.FirstFailure; f == nil || f.File != 2 || f.Of.Name != "work" || f.Missing() != 10*mib {
		t.Errorf("got %+v, %d missing; want 10 MiB to be missing for work in file 2", f, f.Missing())
	}
}

// TestUntilNextOfAFailedFile: if memory runs out while a new batch of two tensors is made, the
// variable still holds the old batch, and nothing holds the first new tensor.
func TestUntilNextOfAFailedFile(t *testing.T) {
	for _, each := range []string{"pass", "stage"} {
		_, o := run(t, `
gpu: {total: 100MiB, context: 0}
files: {count: 3, seconds: 60}
stages:
  - name: Loading
    tensors:
      - {name: batch, each: `+each+`, count: 2, size: (file == 2 ? 40 : 20) * MiB, until: next}
`, simulator.Options{})
		if o.Failed != 1 || !o.PerFile[1].Failed {
			t.Fatalf("each %s: %d files failed, want file 2 alone", each, o.Failed)
		}
		for i, f := range o.PerFile {
			if f.Idle.Allocated != 40*mib {
				t.Errorf("each %s, file %d: %d bytes stay allocated, want 40 MiB", each, i+1,
					f.Idle.Allocated)
			}
		}
	}
}

// TestLengthsOfItems: the sizes of tensors may depend on the length of the items of their pass, and
// on their number among several.
func TestLengthsOfItems(t *testing.T) {
	_, o := run(t, `
gpu: {total: 1GiB, context: 0}
files: {count: 1, seconds: 60}
stages:
  - name: Enrollment
    items: 3
    item_seconds: 10 * pass
    tensors:
      - {name: clips, each: pass, until: file, size: item_seconds * MiB}
      - {name: parts, count: 3, until: run, size: 20 * index * MiB}
`, simulator.Options{})
	if want := (10 + 20 + 30 + 20 + 40 + 60) * mib; o.Peak.Allocated != want {
		t.Errorf("peak: got %d, want %d", o.Peak.Allocated, want)
	}
}
