//go:build gpu

package meter

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"vramsoak/parser/record"
)

// TestNvidiaSMI compares NVML's readings with the output of nvidia-smi. It needs a GPU; make
// test-gpu runs it.
func TestNvidiaSMI(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "nvidia-smi", "--query-gpu=name,memory.total",
		"--format=csv,noheader,nounits").Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := OpenNVML()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	uses, err := n.Use([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	occupied, err := n.View(n.Visible("", false)).Occupied()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range occupied {
		if o.Used < 0 || o.Used > o.Total || o.Total != n.Devices()[o.GPU].Total {
			t.Errorf("%+v", o)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(n.Devices()) || len(lines) != len(uses) {
		t.Fatalf("nvidia-smi lists %d GPUs, NVML %d, and %d in use", len(lines), len(n.Devices()),
			len(uses))
	}
	for i, line := range lines {
		name, mib, _ := strings.Cut(line, ", ")
		total, err := strconv.ParseInt(mib, 10, 64)
		if err != nil {
			t.Fatalf("nvidia-smi printed %q: %v", line, err)
		}
		d := n.Devices()[i]
		if d.Name != name || d.Total/record.MiB != total {
			t.Errorf("GPU %d: NVML has %s of %d MiB, nvidia-smi %s of %d MiB", i, d.Name,
				d.Total/record.MiB, name, total)
		}
		if u := uses[i]; u.Used < 0 || u.Used > u.Total || u.Total != d.Total {
			t.Errorf("GPU %d: %+v", i, u)
		}
	}
}
