package main

import (
	"testing"
	"time"

	"vramsoak/harness"
	"vramsoak/parser/record"
)

func TestProgressLineOfWorkers(t *testing.T) {
	t.Parallel()
	worker := func(gpu int, mib int64, path string) harness.Progress {
		p := harness.Progress{GPU: gpu, Current: path}
		p.Reading.Set(record.Allocated, record.Exact(mib<<20))
		p.Reading.Set(record.Reserved, record.Exact(2*mib<<20))
		return p
	}
	p := harness.Progress{
		Done: 23, Files: 60, Failed: 1, Left: 21 * time.Second, HasLeft: true,
		Workers: []harness.Progress{
			worker(0, 130, "audio/0024.wav"),
			worker(1, 131, "audio/0025.wav"),
			{GPU: 3},
		},
	}
	want := "23/60 files, 1 failed  left 0:21  | GPU 0  allocated 130 MiB  0024.wav  | GPU 1 " +
		" allocated 131 MiB  0025.wav  | GPU 3"
	if got := progressLine(p); got != want {
		t.Errorf("found %s", got)
	}
}
