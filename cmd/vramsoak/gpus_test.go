package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness"
	"vramsoak/parser/record"
)

func TestNamedGPUs(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "3,1")
	four := machineGPUs{driver: true, count: 4, visible: []int{3, 1}}
	for _, test := range []struct {
		text  string
		there machineGPUs
		want  []int
		err   string
	}{
		{"0,1", machineGPUs{}, []int{0, 1}, ""},
		{" 5, 2", machineGPUs{}, []int{5, 2}, ""},
		{"all", four, []int{3, 1}, ""},
		{"1", four, []int{1}, ""},
		{"1,0", four, nil, "--gpus 1,0: expected GPUs that CUDA_VISIBLE_DEVICES=3,1 shows, found 0; choose others, or unset it"},
		{"4", four, nil, "--gpus 4: expected GPUs that the driver knows, of which there are 4 from 0 on, found 4"},
		{"0", machineGPUs{driver: true}, nil, "--gpus 0: expected GPUs that the driver knows, of which there are 0 from 0 on, found 0"},
		{
			"all",
			machineGPUs{driver: true, count: 4},
			nil,
			"--gpus all: expected GPUs, found none that the driver knows and CUDA_VISIBLE_DEVICES shows",
		},
		{"-1", four, nil, `--gpus -1: expected numbers of GPUs with commas between them, or all, found "-1"`},
		{"99999", machineGPUs{}, nil, `--gpus 99999: expected numbers of GPUs with commas between them, or all, found "99999"`},
	} {
		got, err := namedGPUs(test.text, test.there)
		said := ""
		if err != nil {
			said, got = err.Error(), nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" || said != test.err {
			t.Errorf("%s: %v, %s", test.text, got, said)
		}
	}
}

// A run folder is its workers' logs, in the order of the GPUs' numbers, without what is none.
func TestRunLogs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run [1]*")
	write := func(name, text string) string {
		path := filepath.Join(dir, name, harness.LogName)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ten, two := write("gpu-10", "x\n"), write("gpu-2", "x\n")
	write("gpu-3", "")
	write("gpu-4", "[vramsoak] run-st")
	write("gpu-x", "x\n")
	if diff := cmp.Diff([]string{two, ten}, runLogs(dir)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if folder := runFolderOf([]string{two, ten}); folder != dir {
		t.Errorf("folder %q", folder)
	}
	one := write(".", "x\n")
	if diff := cmp.Diff([]string{one}, runLogs(dir)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	if folder := runFolderOf([]string{one, two}); folder != "" {
		t.Errorf("folder %q", folder)
	}
	if folder := runFolderOf([]string{one}); folder != dir {
		t.Errorf("folder %q", folder)
	}
}

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
		Workers: []harness.Progress{worker(0, 130, "audio/0024.wav"), worker(1, 131, "audio/0025.wav"), {GPU: 3}},
	}
	want := "23/60 files, 1 failed  left 0:21  | GPU 0  allocated 130 MiB  0024.wav  | GPU 1  allocated 131 MiB  0025.wav  | GPU 3"
	if got := progressLine(p); got != want {
		t.Errorf("found %s", got)
	}
}
