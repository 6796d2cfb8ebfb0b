package sample

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
)

func TestOveruse(t *testing.T) {
	t.Parallel()
	const gib = record.GiB
	tests := []struct {
		name        string
		limit       Limit
		used, total int64
		want, far   bool
	}{
		{"none", Limit{}, 24 * gib, 24 * gib, false, false},
		{"at the share", Limit{Share: 0.75}, 18 * gib, 24 * gib, false, false},
		{"above the share", Limit{Share: 0.75}, 18*gib + 1, 24 * gib, true, false},
		{"half of the rest is gone", Limit{Share: 0.75}, 21 * gib, 24 * gib, true, false},
		{
			"more than half of the rest is gone",
			Limit{Share: 0.75},
			21*gib + 1, 24 * gib, true,
			true,
		},
		{"a share of an unknown total", Limit{Share: 0.75}, 18*gib + 1, 0, false, false},
		{"bytes of an unknown total", Limit{Bytes: 18 * gib}, 18*gib + 1, 0, true, false},
		{"more bytes than there are", Limit{Bytes: 30 * gib}, 24 * gib, 24 * gib, false, false},
	}
	for _, test := range tests {
		got := test.limit.overuse(test.used, test.total, "device 0", "")
		if (got.Text != "") != test.want || got.Severe != test.far {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	for _, bad := range []Limit{{Share: 1.1}, {Share: -1}, {Bytes: -1}, {Share: 1.1, Bytes: 1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// TestOveruseOfASample: if the pipeline uses a device, all memory in use on that device counts. The
// machine's memory counts only in a run without a device.
func TestOveruseOfASample(t *testing.T) {
	t.Parallel()
	sample := func(source string, used, whole int64) record.Sample {
		s := record.Sample{RSS: 99, Source: source, DeviceUsed: whole, Lane: record.Lane{Device: 1}}
		if source != "" {
			s.Set(record.Used, record.Exact(used))
			s.Set(record.Total, record.Exact(100))
		}
		return s
	}
	tests := []struct {
		name    string
		device  bool
		samples []record.Sample
		want    string
	}{
		{"within", true, []record.Sample{sample(record.SourceProcess, 50, 90)}, ""},
		{
			"others fill it", true,
			[]record.Sample{sample(record.SourceProcess, 50, 91)},
			"91 B of 100 B of device 1 were in use, 50 B of it by the pipeline, " +
				"more than the 90% that the run allows",
		},
		{
			"the whole device", true,
			[]record.Sample{sample(record.SourceDevice, 91, 0)},
			"91 B of 100 B of device 1 were in use, more than the 90% that the run allows",
		},
		{"the device does not answer", true, []record.Sample{sample("", 0, 0)}, ""},
		{
			"no device at all", false,
			[]record.Sample{sample("", 0, 0)},
			"99 B of 100 B of the machine's memory were in use by the pipeline, " +
				"more than the 90% that the run allows",
		},
		{
			"the worst of two", true,
			[]record.Sample{sample(record.SourceDevice, 91, 0), sample(record.SourceDevice, 99, 0)},
			"99 B of 100 B of device 1 were in use, more than the 90% that the run allows",
		},
	}
	for _, test := range tests {
		g := Guard{Limit: Limit{Share: 0.9}, HasDevice: test.device, Machine: 100}
		if diff := cmp.Diff(test.want, g.Samples(test.samples).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
