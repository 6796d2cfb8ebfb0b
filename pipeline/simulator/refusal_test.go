package simulator_test

import (
	"strings"
	"testing"

	"vramsoak/parser"
	"vramsoak/parser/record"
	"vramsoak/pipeline/simulator"
)

// refused returns the allocator's segments that the log lists for its first failed allocation.
func refused(t *testing.T, log string) record.SegmentMap {
	t.Helper()
	for rec, err := range parser.Read(strings.NewReader(log), "test.log") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := rec.(record.SegmentMap); ok && m.Requested > 0 {
			return m
		}
	}
	t.Fatal("the log has no map of a failed allocation")
	return record.SegmentMap{}
}

// TestRefusalIsOfTheFailure: the segments that the log lists for a failed allocation show the
// memory at the time of the failure, as PyTorch's message does, and not the memory after the stage
// has freed its own.
func TestRefusalIsOfTheFailure(t *testing.T) {
	for name, src := range map[string]string{
		"a pass": `
gpu: {total: 2GiB, context: 0}
models: [{id: asr, model: whisper-small, dtype: float16, resident: true}]
stages: [{name: A, models: [asr], items: 64, item_seconds: 30, batch: 64}]
`,
		"weights": `
gpu: {total: 100MiB, context: 20MiB}
models: [{id: m, weights: 150MiB}]
stages: [{name: A, models: [m]}]
`,
		"tensors of a pass": `
gpu: {total: 100MiB, context: 20MiB}
stages: [{name: A, tensors: [{name: a, size: 30MiB, count: 4, each: pass}]}]
`,
	} {
		t.Run(name, func(t *testing.T) {
			log, o := run(t, src, simulator.Options{Files: 1})
			oom := o.FirstFailure.OOM
			held := refused(t, log)
			var reserved, allocated int64
			for _, s := range held.Segments {
				reserved += s.Size
				for _, b := range s.Blocks {
					if b.State == record.BlockAllocated {
						allocated += b.Size
					}
				}
			}
			if reserved != oom.Reserved || allocated != oom.Allocated ||
				held.Used != oom.DeviceTotal-oom.DeviceFree {
				t.Errorf("the map has %d reserved, %d allocated, %d used; PyTorch's message has "+
					"%d, %d, %d", reserved, allocated, held.Used,
					oom.Reserved, oom.Allocated, oom.DeviceTotal-oom.DeviceFree)
			}
			sum := int64(0)
			for _, p := range o.FirstFailure.Parts {
				sum += p.Bytes
			}
			if sum != oom.DeviceTotal-oom.DeviceFree {
				t.Errorf("the parts sum up to %d, want the %d in use", sum,
					oom.DeviceTotal-oom.DeviceFree)
			}
		})
	}
}

// TestFragmented: a failure counts as fragmentation only if the free memory, in one piece, would
// suffice for all remaining allocations of the stage, and not just for the one that failed.
func TestFragmented(t *testing.T) {
	for _, c := range []struct {
		name, src  string
		fragmented bool
		missing    int64 // MiB
	}{
		// The context takes 4 of 100 MiB. Nine pieces of 10 MiB of the weights fit, the tenth does
		// not.
		{"a model larger than the card", "gpu: {total: 100MiB, context: 4MiB}\nmodels: [{id: m, " +
			"weights: 200MiB, resident: true}]\nstages: [{name: A}]\n", false, 104},
		// The tensors kept and more lie in a segment of 20 MiB, in which 16 MiB are free. Tensor a
		// takes 38 of the other 40 MiB. Tensor b needs 18 MiB, but the free pieces have 16 and 2
		// MiB.
		{"in pieces", `
gpu: {total: 60MiB, context: 0}
stages:
  - name: Data
    once: true
    tensors: [{name: kept, size: 2MiB, until: run}, {name: first, size: 18MiB}, {name: more, size: 2MiB, until: run}]
  - {name: A, tensors: [{name: a, size: 38MiB}, {name: b, size: 18MiB}]}
`, true, 0},
		// The same segment leaves 40 MiB in one piece, but a needs 41 MiB. In sum 56 MiB are free,
		// and a and b need 60 MiB.
		{"in pieces, and too much", `
gpu: {total: 60MiB, context: 0}
stages:
  - name: Data
    once: true
    tensors: [{name: kept, size: 2MiB, until: run}, {name: first, size: 18MiB}, {name: more, size: 2MiB, until: run}]
  - {name: A, tensors: [{name: a, size: 41MiB}, {name: b, size: 19MiB}]}
`, false, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, o := run(t, c.src, simulator.Options{Files: 1})
			f := o.FirstFailure
			if f == nil {
				t.Fatal("no allocation failed")
			}
			if f.Fragmented() != c.fragmented || f.Missing() != c.missing<<20 {
				t.Errorf("fragmented: %t, %d missing, want %t, %d MiB: %+v", f.Fragmented(),
					f.Missing(), c.fragmented, c.missing, f.OOM)
			}
		})
	}
}

// TestWeightsBySize: if the scenario gives only the size of a model's weights, the model takes
// exactly this size.
func TestWeightsBySize(t *testing.T) {
	_, o := run(t, "gpu: {total: 8GiB, context: 504MiB}\nmodels: [{id: m, weights: 6.2GiB, "+
		"resident: true}]\nstages: [{name: A, models: [m]}]\n", simulator.Options{})
	if o.FirstFailure != nil || o.Peak.Reserved > o.Peak.Allocated+2<<20 {
		t.Errorf("got %+v, want as much reserved as allocated, within 2 MiB", o.Peak)
	}
}

// TestMeasuredCacheFailsNothing: the memory that a measured stage reserved but did not allocate is
// cache. It makes no allocation fail, and does not count as allocated.
func TestMeasuredCacheFailsNothing(t *testing.T) {
	src := "gpu: {total: %s, context: 512MiB}\nfiles: {count: 3}\nstages: [{name: T, footprint: " +
		"{base: 2GiB, reserved: 3}}]\n"
	for card, reserved := range map[string]int64{"16GiB": 6 << 30, "4GiB": 3 << 30} {
		_, o := run(t, strings.Replace(src, "%s", card, 1), simulator.Options{})
		if o.FirstFailure != nil || o.FirstPressure > 0 || o.Peak.Allocated != 2<<30 {
			t.Errorf("on %s: got %+v, first pressure in file %d, %+v, want 2 GiB allocated and none", card,
				o.FirstFailure, o.FirstPressure, o.Peak)
		}
		if o.Peak.Reserved < reserved || o.Peak.Reserved > reserved+512<<20 {
			t.Errorf("on %s: got %d reserved, want %d and up to 512 MiB more", card,
				o.Peak.Reserved, reserved)
		}
	}
}
