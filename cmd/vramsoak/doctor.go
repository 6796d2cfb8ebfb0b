package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

func newDoctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do: driver, GPU, libraries, disk",
		Long: `Doctor looks for what a soak may use, and says for each what follows where it is missing. It needs none of it: logs
can be judged anywhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.OutOrStdout()) },
	}
}

// A diagnosis is one line of doctor.
type diagnosis struct {
	what  string
	ok    bool
	found string // or what follows from its absence
}

func runDoctor(out io.Writer) error {
	var all []diagnosis
	all = append(all, diagnosis{"vramsoak", true, fmt.Sprintf("%s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)})
	all = append(all, diagnoseGPUs()...)
	all = append(all, diagnoseMemory(), diagnosePipeline(), diagnoseFFmpeg(), diagnoseDisk())
	for _, d := range all {
		mark := "ok  "
		if !d.ok {
			mark = "none"
		}
		if _, err := fmt.Fprintf(out, "%s  %-16s %s\n", mark, d.what, d.found); err != nil {
			return err
		}
	}
	return nil
}

func diagnoseGPUs() []diagnosis {
	nvml, err := meter.OpenNVML()
	if err != nil {
		return []diagnosis{{"NVIDIA driver", false, fmt.Sprintf("%v; samples then have no device figures", err)}}
	}
	defer func() { _ = nvml.Close() }() // only read
	all := []diagnosis{{"NVIDIA driver", true, nvml.Driver()}}
	for i, g := range nvml.Devices() {
		all = append(all, diagnosis{fmt.Sprintf("GPU %d", i), true, fmt.Sprintf("%s, %s", g.Name, parser.FormatBytes(g.Total))})
	}
	return all
}

func diagnoseMemory() diagnosis {
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		return diagnosis{"host memory", false, err.Error()}
	}
	r, err := host.Read()
	if err != nil {
		return diagnosis{"host memory", false, err.Error()}
	}
	return diagnosis{"host memory", true, parser.FormatBytes(r.Bytes(parser.Total)) + ", the device where there is no GPU"}
}

// diagnosePipeline looks for the native pipeline beside this program, then in PATH, and runs it.
func diagnosePipeline() diagnosis {
	const name = "gpupipeline"
	path := ""
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), name); exec.Command(beside, "--version").Run() == nil {
			path = beside
		}
	}
	if path == "" {
		path, _ = exec.LookPath(name) // "" is told below
	}
	if path == "" {
		return diagnosis{name, false, "make build makes it where whisper.cpp can be had; your own pipelines need it not"}
	}
	out, err := exec.Command(path, "--version").CombinedOutput()
	if err != nil {
		return diagnosis{name, false, fmt.Sprintf("%s --version: %v", path, err)}
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return diagnosis{name, true, first}
}

func diagnoseFFmpeg() diagnosis {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return diagnosis{"ffmpeg", false, "gpupipeline then reads WAV only"}
	}
	return diagnosis{"ffmpeg", true, path}
}

func diagnoseDisk() diagnosis {
	var st unix.Statfs_t
	if err := unix.Statfs(".", &st); err != nil {
		return diagnosis{"disk", false, err.Error()}
	}
	free := int64(st.Bavail) * st.Bsize
	return diagnosis{"disk", free > parser.GiB, parser.FormatBytes(free) + " free in the current folder"}
}
