package trace_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// oracle is the path of the program that replays traces with PyTorch's own allocator on a fake
// driver. ci/oracle/build.sh builds it, and make oracle sets the variable. It is "" if the program
// was not built.
var oracle = os.Getenv("ORACLE")

// oracleCommand returns the command that replays the trace at path with the oracle.
func oracleCommand(s trace.Settings, path string) *exec.Cmd {
	arguments := []string{path}
	if s.Segments {
		arguments = []string{"-t", path}
	}
	cmd := exec.Command(oracle, arguments...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTORCH_") && !strings.HasPrefix(v, "FAKE_CUDA_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, oracleEnvironment(s)...)
	return cmd
}

func oracleEnvironment(s trace.Settings) []string {
	events := "done"
	if s.PendingEvents {
		events = "pending"
	}
	return []string{
		"PYTORCH_CUDA_ALLOC_CONF=" + s.Conf,
		"FAKE_CUDA_TOTAL=" + strconv.FormatInt(s.Capacity, 10),
		"FAKE_CUDA_OVERHEAD=" + strconv.FormatInt(s.Overhead, 10),
		"FAKE_CUDA_VA=" + placementName(s.Placement),
		"FAKE_CUDA_EVENTS=" + events,
	}
}

func placementName(p allocator.Placement) string {
	return map[allocator.Placement]string{
		allocator.FirstFit: "firstfit", allocator.Up: "up",
		allocator.Down: "down",
	}[p]
}

// reproduce returns a shell command that shows how the outputs of the model and of the oracle
// differ for the trace at path.
func reproduce(s trace.Settings, path string) string {
	ours := fmt.Sprintf("bin/vramsoak replay %s --capacity %d --overhead %d --conf '%s' "+
		"--placement %s", path, s.Capacity, s.Overhead, s.Conf,
		placementName(s.Placement))
	if s.PendingEvents {
		ours += " --events pending"
	}
	flags := ""
	if s.Segments {
		ours += " --segments"
		flags = "-t "
	}
	environment := oracleEnvironment(s)
	environment[0] = "PYTORCH_CUDA_ALLOC_CONF='" + s.Conf + "'"
	return fmt.Sprintf("diff <(%s) <(%s %s %s%s) | head", ours, strings.Join(environment, " "),
		oracle, flags, path)
}

// A difference is the first line that the model and the oracle print differently.
type difference struct {
	operation    int // of the trace, from 1; 0 for a difference at the end
	ours, theirs string
}

func (d *difference) Error() string {
	return fmt.Sprintf("operation %d:\n  ours:   %s\n  oracle: %s", d.operation, d.ours, d.theirs)
}

// A comparison is a writer for the model's output, in whole lines. It compares each line with the
// oracle's output. At the first line that differs, Write returns a [*difference].
type comparison struct {
	theirs     io.Reader
	perOp      int // lines for each operation that begin with the operation's text
	operations int // such lines so far
	buffer     []byte
	ended      bool // the oracle printed less than the model
}

func (c *comparison) Write(ours []byte) (int, error) {
	c.buffer = append(c.buffer[:0], ours...) // for text of the same length
	n, err := io.ReadFull(c.theirs, c.buffer)
	theirs := c.buffer[:n]
	if err == nil && bytes.Equal(ours, theirs) {
		c.count(ours)
		return len(ours), nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, err
	}
	c.ended = err != nil
	at := 0
	for at < len(theirs) && ours[at] == theirs[at] {
		at++
	}
	begin := bytes.LastIndexByte(ours[:at], '\n') + 1
	c.count(ours[:begin])
	d := &difference{ours: firstLine(ours[begin:])}
	rest, _ := bufio.NewReader(c.theirs).ReadString('\n') // shown as far as it goes
	d.theirs = firstLine(append(bytes.Clone(theirs[begin:]), rest...))
	if d.theirs == "" && c.ended {
		d.theirs = "(ended)"
	}
	if isOp([]byte(d.ours)) || isOp([]byte(d.theirs)) {
		c.operations++
	}
	d.operation = (c.operations + c.perOp - 1) / c.perOp
	return 0, d
}

func (c *comparison) count(lines []byte) {
	for line := range bytes.Lines(lines) {
		if isOp(line) {
			c.operations++
		}
	}
}

// isOp reports whether a line of the output belongs to an operation, and not to a segment, a
// snapshot or the end.
func isOp(line []byte) bool {
	return len(line) > 0 && line[0] != ' ' && !bytes.HasPrefix(line, []byte("SNAPSHOT ")) &&
		!bytes.HasPrefix(line, []byte("END "))
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return string(line)
}

// differ replays the operations with the model, and the file at path, which must hold the same
// trace, with the oracle. If the outputs differ, the error is a [*difference]. The other results
// are those of the model.
func differ(s trace.Settings, path string, ops iter.Seq2[trace.Op, error]) (trace.Totals,
	*allocator.Stats, error,
) {
	config, err := allocator.ParseConfig(s.Conf)
	if err != nil {
		return trace.Totals{}, nil, err
	}
	cmd := oracleCommand(s, path)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	theirs, err := cmd.StdoutPipe()
	if err != nil {
		return trace.Totals{}, nil, err
	}
	if err := cmd.Start(); err != nil {
		return trace.Totals{}, nil, err
	}
	c := &comparison{theirs: theirs, perOp: 1}
	if s.Segments {
		c.perOp = 2
	}
	device := s.Device()
	a := allocator.New(device, config)
	totals, err := trace.Replay(c, ops, device, a, trace.Options{Name: path, Segments: s.Segments})
	if err == nil {
		if more, _ := io.ReadAll(theirs); len(more) > 0 {
			err = &difference{ours: "(ended)", theirs: firstLine(more)}
		}
	}
	if err != nil {
		if c.ended { // otherwise Wait could block: nobody reads the rest of the oracle's output
			err = errors.Join(err, cmd.Wait())
		} else {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
		}
		if diagnostics.Len() > 0 {
			err = fmt.Errorf("%w\n  the oracle: %s", err,
				strings.TrimSpace(diagnostics.String()))
		}
		return totals, a.Stats(), err
	}
	if err := cmd.Wait(); err != nil {
		return totals, a.Stats(), fmt.Errorf("the oracle: %w: %s", err, diagnostics.String())
	}
	return totals, a.Stats(), nil
}

// writeTrace writes operations to a file.
func writeTrace(t testing.TB, path string, ops iter.Seq[trace.Op]) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<16)
	var line []byte
	for op := range ops {
		line = append(op.AppendTo(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// differOnFile replays the trace at path with the model and with the oracle, see differ.
func differOnFile(s trace.Settings, path string) (trace.Totals, *allocator.Stats, error) {
	file, err := os.Open(path)
	if err != nil {
		return trace.Totals{}, nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return differ(s, path, trace.Read(file, path))
}
