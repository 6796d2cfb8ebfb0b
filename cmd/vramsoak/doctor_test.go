package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

// TestDiagnoseIdles shows what doctor --gpu prints for two GPUs. A process holds memory on one of
// them, and its use changes.
func TestDiagnoseIdles(t *testing.T) {
	idle := func(gpu int, used int64, settled bool) record.Idle {
		i := record.Idle{GPU: gpu, Settled: settled}
		i.Set(record.Used, record.Exact(used))
		i.Set(record.Total, record.Exact(80<<30))
		return i
	}
	held := idle(1, 9<<30, false)
	held.Holders = []record.Holder{
		{PID: 17, Command: "python transcribe.py", Ours: true},
		{PID: 18},
	}
	held.Holders[0].Set(record.Used, record.Exact(8<<30))
	devices := []meter.DeviceInfo{{Name: "NVIDIA H100"}, {Name: "NVIDIA A100"}}
	for _, test := range []struct {
		idles []record.Idle
		want  string
	}{
		{
			[]record.Idle{idle(0, 3<<20, true), held},
			`ok    GPU 0            NVIDIA H100, 3.00 MiB of 80.0 GiB in use, settled
ok    GPU 1            NVIDIA A100, 9.00 GiB of 80.0 GiB in use, still moving after 5s
                       held by pid 17 (python transcribe.py) 8.00 GiB, left by a run of vramsoak
                       held by pid 18
`,
		},
		{nil, "none  GPUs             CUDA_VISIBLE_DEVICES shows none of 2\n"},
	} {
		var out bytes.Buffer
		if err := writeDiagnoses(&out, diagnoseIdles(devices, test.idles)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWriteDiagnoses: on a narrow terminal the lines fold below their third column. A number stays
// with its unit, and a letter of several bytes stays whole.
func TestWriteDiagnoses(t *testing.T) {
	t.Setenv("COLUMNS", "48")
	var out bytes.Buffer
	if err := writeDiagnoses(&out, []diagnosis{
		{"GPU 0", true, "NVIDIA H100 PCIe, 4.00 MiB of 80.0 GiB in use"},
		{"ffmpeg", true, "/opt/ääääääääääää/bin/ffmpeg"},
	}); err != nil {
		t.Fatal(err)
	}
	const want = `ok    GPU 0            NVIDIA H100 PCIe,
                       4.00 MiB of 80.0 GiB in
                       use
ok    ffmpeg           /opt/ääääääääääää/bin/
                       ffmpeg
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestStatsOf: the numbers of the GPUs, for programs. The driver does not know what the second
// process holds.
func TestStatsOf(t *testing.T) {
	devices := []meter.DeviceInfo{{Name: "NVIDIA H100", UUID: "GPU-a"}, {Name: "NVIDIA A100"}}
	got := statsOf(devices, []meter.Occupancy{
		{GPU: 1, Used: 30, Total: 40, Holders: []meter.Holder{
			{PID: 17, Used: 20, HasUsed: true},
			{PID: 18},
		}},
		{GPU: 0},
	})
	used := int64(20)
	want := []gpuStats{
		{
			GPU: 1, Name: "NVIDIA A100", Total: 40, Used: 30, Free: 10, UsedShare: 0.75,
			Processes: []processStats{{PID: 17, Used: &used}, {PID: 18}},
		},
		{Name: "NVIDIA H100", UUID: "GPU-a", Processes: []processStats{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "YES\n": true, " y ": true, "": false,
		"\n": false, "n\n": false, "yep\n": false,
	} {
		var out bytes.Buffer
		got, err := confirm(strings.NewReader(answer), &out, "End it?")
		if err != nil || got != want || out.String() != "End it? [y/N] " {
			t.Errorf("%q: got %v, %v after %q", answer, got, err, out.String())
		}
	}
}
