package jsondoc

import (
	"bytes"
	"encoding/json"
	"testing"

	"vramsoak/parser/snapshot"
)

func TestSnapshot(t *testing.T) {
	device := &snapshot.Analysis{
		Holds: []snapshot.Usage{{Bytes: 6 << 20}},
		Trace: &snapshot.Trace{OOMs: []snapshot.OutOfMemory{
			{Largest: 2 << 20},
			{Largest: 1 << 20},
		}},
	}
	var out bytes.Buffer
	if err := Snapshot(&out, "oom.pickle", []*snapshot.Analysis{device}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema, Path string
		Devices      []struct {
			Holds []struct{ Bytes int64 }
			Trace struct {
				OOMs []struct {
					LargestFree int64 `json:"largest_free"`
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	d := got.Devices[0]
	if got.Schema != "vramsoak.snapshot/1" || got.Path != "oom.pickle" ||
		d.Holds[0].Bytes != 6<<20 ||
		len(d.Trace.OOMs) != 2 || d.Trace.OOMs[0].LargestFree != 2<<20 {
		t.Errorf("%+v", got)
	}
}
