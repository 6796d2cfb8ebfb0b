package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"vramsoak/harness"
	"vramsoak/harness/sample"
	"vramsoak/harness/supervise"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

type doctorOptions struct {
	gpu              string // "" for no GPU, allGPUs, or the driver's number of one
	free, yes        bool
	run              string
	statsOnly, force bool
	pid, top         int
	format           string
}

// allGPUs is the value of --gpu without a number.
const allGPUs = "all"

func newDoctorCommand() *cobra.Command {
	opts := doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor [RUN]",
		Short: "Say what this machine can do, what holds its GPUs and the memory of a running pipeline",
		Long: `Doctor looks for what a soak can use, and says what follows if it is missing. A
soak needs none of it, and logs can be judged anywhere.

With --gpu it looks only at the GPUs that CUDA_VISIBLE_DEVICES shows: how much of each is in use,
whether that has settled, and which processes hold it, as far as the driver names them. With
--gpu N it looks only at GPU N, as the driver numbers it.

With --stats-only it prints the numbers of the GPUs and waits for nothing: total, in use, free, by
process. --format json prints them for programs, in bytes.

With --force RUN it asks the running Python processes of the run in that folder which tensors are
alive, and prints them by shape, type, device and what refers to them, the largest first. A process
answers if vramlog.py and vramlook.py lie beside its program, and it imports vramlog. Doctor only
looks: it frees nothing and ends nothing, and the process goes on. With --gpu N it shows the tensors
of cuda:N only, as the process numbers it. RUN may also be the folder that vramlog.listen() has.

With --free it ends processes that a run of vramsoak left behind when its harness was killed, as by
kill -9: processes of this user with the run's id in their environment. It lists them and asks
before it ends them; with --yes it does not ask. Each gets SIGTERM, and SIGKILL if it has not ended
after five seconds. It never ends processes of a running soak. The exit status is 2 if there is no
terminal to ask on, or if a process does not end. It is 0 if the answer is no.`,
		Example: `  vramsoak doctor --gpu
  vramsoak doctor --stats-only --gpu 0 --format json
  vramsoak doctor --force runs/2026-11-20T02-00-00Z
  vramsoak doctor --free
  vramsoak doctor --free --yes --gpu`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A flag whose value may be missing takes only --gpu=1. So in --gpu 1 the number is still
			// among the arguments.
			if i := slices.IndexFunc(args, isNumber); opts.gpu == allGPUs && i >= 0 {
				opts.gpu = args[i]
				args = slices.Delete(args, i, i+1)
			}
			return runDoctor(cmd, opts, args)
		},
	}
	cmd.Flags().StringVar(&opts.gpu, "gpu", "",
		"show what is in use on the GPUs, and what holds it; with a number, on GPU `N`")
	cmd.Flags().Lookup("gpu").NoOptDefVal = allGPUs
	cmd.Flags().BoolVar(&opts.statsOnly, "stats-only", false, "print only the numbers of the GPUs")
	cmd.Flags().BoolVar(&opts.force, "force", false,
		"ask the running processes of the run in RUN which tensors are alive; only looks")
	wholeVar(cmd.Flags(), &opts.pid, "pid", 0, 1, "with --force: ask only the process with this `PID`")
	wholeVar(cmd.Flags(), &opts.top, "top", 20, 1, "with --force: rows for each process, 200 at most")
	choiceVar(cmd.Flags(), &opts.format, "format", "text", textOrJSON,
		"with --stats-only and --force: text or json")
	cmd.Flags().BoolVar(&opts.free, "free", false,
		"end what earlier runs left behind, after asking")
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "with --free: do not ask")
	cmd.Flags().StringVar(&opts.run, "run", "",
		"with --free: end only what the run with this `id` left; the first line of its soak.log "+
			"has the id")
	return cmd
}

func isNumber(arg string) bool {
	_, err := strconv.ParseUint(arg, 10, 16)
	return err == nil
}

// validate returns an error for flags and arguments that do not belong together.
func (o *doctorOptions) validate(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case !o.free && (o.yes || given("run")):
		return errors.New("--yes, --run: expected --free too, found none; they are for it alone")
	case given("run") && o.run == "":
		return errors.New("--run: expected the id of a run, found none; it is in the first line " +
			"of its soak.log")
	case o.gpu == "true", o.gpu == "false": // values of earlier versions
		o.gpu = map[string]string{"true": allGPUs}[o.gpu]
	case given("gpu") && o.gpu != allGPUs && !isNumber(o.gpu):
		return fmt.Errorf("--gpu: expected the number of a GPU, such as 0, found %q", o.gpu)
	}
	switch {
	case o.force && (o.free || o.statsOnly):
		return errors.New("--force: expected neither --free nor --stats-only beside it")
	case o.statsOnly && o.free:
		return errors.New("--stats-only: expected no --free beside it; run doctor twice")
	case !o.force && (given("pid") || given("top")):
		return errors.New("--pid, --top: expected --force too, found none; they are for it alone")
	case !o.force && !o.statsOnly && given("format"):
		return errors.New("--format: expected --stats-only or --force too, found neither")
	case o.force && len(args) != 1:
		return fmt.Errorf("--force: expected one run folder, found %d; such as: vramsoak doctor "+
			"--force runs/2026-11-20T02-00-00Z", len(args))
	case o.force:
		return nil
	}
	return wantsNone(cmd, args)
}

func runDoctor(cmd *cobra.Command, opts doctorOptions, args []string) error {
	if err := opts.validate(cmd, args); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if opts.free {
		if err := free(cmd.Context(), os.Stdin, out, opts); err != nil {
			return err
		}
	}
	switch {
	case opts.force:
		return showTensors(cmd.Context(), out, args[0], opts)
	case opts.statsOnly:
		return showStats(out, opts)
	case opts.gpu != "":
		return showGPUs(cmd.Context(), out, opts.gpu)
	case opts.free:
		return nil
	}
	var all []diagnosis
	all = append(all, diagnosis{"vramsoak", true, fmt.Sprintf("%s, %s, %s/%s", version(),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)})
	all = append(all, diagnoseGPUs()...)
	all = append(all, diagnoseMemory(), diagnosePipeline(), diagnoseFFmpeg(), diagnoseDisk())
	return writeDiagnoses(out, all)
}

func writeDiagnoses(out io.Writer, all []diagnosis) error {
	width := text.Columns(textOptions(out))
	column, layout := len("none  host memory      "), "%s  %-16s "
	if 2*column > width {
		column, layout = len("none  "), "%s  %s: "
	}
	indent := strings.Repeat(" ", column)
	for _, d := range all {
		mark := "ok  "
		if !d.ok {
			mark = "none"
		}
		name := fmt.Sprintf(layout, mark, sink.Line(d.what))
		for line := range strings.Lines(string(sink.Block(d.found))) {
			for _, row := range text.FoldAfter(name, line, width, indent) {
				if _, err := sink.Fprintf(out, "%s\n", sink.Safe(row)); err != nil {
					return err
				}
			}
			name = indent
		}
	}
	return nil
}

// A diagnosis is one line of the output of doctor.
type diagnosis struct {
	what  string
	ok    bool
	found string // what was found, or what follows if it is missing
}

func diagnoseGPUs() []diagnosis {
	nvml, err := meter.OpenNVML()
	if err != nil {
		return []diagnosis{noDriver(err)}
	}
	defer func() { _ = nvml.Close() }() // only read
	all := []diagnosis{{"NVIDIA driver", true, nvml.Driver()}}
	for i, g := range nvml.Devices() {
		all = append(all, diagnosis{fmt.Sprintf("GPU %d", i), true, fmt.Sprintf("%s, %s", g.Name,
			record.FormatBytes(g.Total))})
	}
	return all
}

func noDriver(err error) diagnosis {
	return diagnosis{"NVIDIA driver", false, fmt.Sprintf("%s; samples then have no device figures",
		strings.TrimPrefix(err.Error(), "no NVIDIA driver: "))}
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
	return diagnosis{"host memory", true, record.FormatBytes(r.Bytes(record.Total)) +
		", the device where there is no GPU"}
}

// diagnosePipeline looks for gpupipeline beside this program and then in PATH, and runs what it
// found.
func diagnosePipeline() diagnosis {
	const name = "gpupipeline"
	path := ""
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), name); exec.Command(beside,
			"--version").Run() == nil {
			path = beside
		}
	}
	if path == "" {
		path, _ = exec.LookPath(name) // "" is reported below
	}
	if path == "" {
		return diagnosis{name, false, "make build makes it if whisper.cpp is installed; your own " +
			"pipelines do not need it"}
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
	return diagnosis{"disk", free > record.GiB, record.FormatBytes(free) +
		" free in the current folder"}
}

// doctorSettle is how long doctor waits for the memory in use to stop changing.
const doctorSettle = 5 * time.Second

// showGPUs prints the memory in use on each GPU that a pipeline could use on this machine, or on
// one.
func showGPUs(ctx context.Context, out io.Writer, gpu string) error {
	nvml, err := meter.OpenNVML()
	switch {
	case err != nil && gpu != allGPUs:
		return fmt.Errorf("--gpu %s: %w", gpu, err)
	case err != nil:
		return writeDiagnoses(out, []diagnosis{noDriver(err)})
	}
	defer func() { _ = nvml.Close() }() // only read
	view, err := viewOf(nvml, gpu)
	if err != nil {
		return err
	}
	idles, err := sample.Settle(ctx, view.Occupied, doctorSettle)
	if err != nil {
		return err
	}
	return writeDiagnoses(out, append([]diagnosis{{"NVIDIA driver", true, nvml.Driver()}},
		diagnoseIdles(nvml.Devices(), idles)...))
}

// viewOf returns the GPU with the driver's number, or all that this process sees.
func viewOf(nvml *meter.NVML, gpu string) (*meter.View, error) {
	i, err := strconv.Atoi(gpu)
	switch count := len(nvml.Devices()); {
	case err != nil:
		return nvml.View(nvml.Visible(os.LookupEnv(meter.VisibleDevices))), nil
	case i >= count:
		return nil, fmt.Errorf("--gpu: expected the number of one of the %d GPUs here, counted "+
			"from 0, found %d", count, i)
	}
	return nvml.View([]int{i}), nil
}

// diagnoseIdles returns a line for each GPU with the memory in use, and a line for each process
// that holds memory.
func diagnoseIdles(devices []meter.DeviceInfo, idles []record.Idle) []diagnosis {
	if len(idles) == 0 {
		return []diagnosis{{"GPUs", false, fmt.Sprintf("%s shows none of %d", meter.VisibleDevices,
			len(devices))}}
	}
	var all []diagnosis
	for i := range idles {
		idle := &idles[i]
		state := "settled"
		if !idle.Settled {
			state = fmt.Sprintf("still moving after %v", doctorSettle)
		}
		lines := []string{fmt.Sprintf("%s, %s of %s in use, %s", devices[idle.GPU].Name,
			record.FormatBytes(idle.Bytes(record.Used)),
			record.FormatBytes(idle.Bytes(record.Total)), state)}
		for k := range idle.Holders {
			lines = append(lines, fmt.Sprintf("%22s held by %s", "",
				sink.Line(idle.Holders[k].String())))
		}
		all = append(all, diagnosis{
			fmt.Sprintf("GPU %d", idle.GPU), true,
			strings.Join(lines, "\n"),
		})
	}
	return all
}

// free ends the processes that earlier runs left behind. It asks first. If it cannot ask, because
// there is no terminal, it ends nothing.
func free(ctx context.Context, in *os.File, out io.Writer, opts doctorOptions) error {
	left, err := supervise.FindOrphans(opts.run)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		_, err := fmt.Fprintln(out,
			"no process of an earlier soak is left; other programs are not looked at")
		return err
	}
	for _, l := range left {
		if _, err := sink.Fprintf(out, "pid %d, of run %s: %s, %s resident\n", l.PID, l.Run,
			l.Command, record.FormatBytes(l.RSS)); err != nil {
			return err
		}
	}
	if !opts.yes {
		if !term.IsTerminal(int(in.Fd())) {
			return errors.New("expected a terminal on standard input to ask on, or --yes; " +
				"nothing was ended")
		}
		question := "End it?"
		if len(left) > 1 {
			question = fmt.Sprintf("End all %d?", len(left))
		}
		agreed, err := confirm(in, out, question)
		if err != nil {
			return err
		}
		if !agreed {
			_, err := fmt.Fprintln(out, "nothing was ended")
			return err
		}
	}
	return sweep(ctx, out, left)
}

// sweep ends the processes in left. For each it prints whether the process ended.
func sweep(ctx context.Context, out io.Writer, left []supervise.Orphan) error {
	running := supervise.KillOrphans(ctx, left, harness.DefaultGrace)
	var pids []string
	for _, l := range left {
		what := "ended"
		if slices.ContainsFunc(running, func(r supervise.Orphan) bool { return r.PID == l.PID }) {
			what = "still runs:"
			pids = append(pids, fmt.Sprint(l.PID))
		}
		if _, err := sink.Fprintf(out, "%s pid %d\n", what, l.PID); err != nil {
			return err
		}
	}
	if len(pids) > 0 {
		return fmt.Errorf("pid %s did not end after SIGKILL: it is stuck in the kernel, mostly "+
			"in a device driver; the machine may have to be "+
			"restarted", strings.Join(pids, ", "))
	}
	return nil
}

// answerMax is how many bytes of an answer are read.
const answerMax = 1 << 10

// confirm asks a question and reports whether the answer is y or yes.
func confirm(in io.Reader, out io.Writer, question string) (bool, error) {
	if _, err := sink.Fprintf(out, "%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(io.LimitReader(in, answerMax)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
