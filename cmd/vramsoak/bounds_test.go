package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"vramsoak/parser"
)

// refusedMax is what may be resident, at most, of a process that refuses a file by its first bytes
// or by a limit.
const refusedMax = 64 * parser.MiB

// peakMain runs a command and writes the most that was resident of it to the file that peakFile
// names. It is a process of its own because a new process begins with its parent's pages: of a
// child of the tests the kernel would tell the tests' memory.
func peakMain() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its exit code is passed on
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage)
	if err == nil {
		err = os.WriteFile(os.Getenv(peakFile), fmt.Append(nil, usage.Maxrss<<10), 0o600)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

const peakFile = "VRAMSOAK_TEST_PEAK"

// A ran is what a command did.
type ran struct {
	code     int
	out, err string
	peak     int64 // bytes that were resident at most
}

// measuredRun runs vramsoak in a folder.
func measuredRun(t *testing.T, dir string, args ...string) ran {
	t.Helper()
	peak := filepath.Join(t.TempDir(), "peak")
	cmd := exec.CommandContext(t.Context(), "peak", append([]string{"vramsoak"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), peakFile+"="+peak)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code says
	text, err := os.ReadFile(peak)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String(), n}
}

// sparse is a file of 2 GiB that begins with a text; the rest are zeros that take no room on the
// disk.
func sparse(t *testing.T, path, head string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2<<30); err != nil {
		t.Fatal(err)
	}
}

// TestLargeFilesAreRefused gives 2 GiB of zeros, or a file without an end, wherever a small file is
// read.
func TestLargeFilesAreRefused(t *testing.T) {
	t.Parallel()
	const aLog = "[GPU Memory] Before X Cleanup: Allocated: 1.00GB\n[GPU Memory] After X Cleanup: Allocated: 0.00GB\n"
	type kind struct {
		name string
		head string // what the file begins with
		file string // its name, where that matters
		args string // FILE is the file, DIR its folder, LOG a log
		want string // in the error
	}
	for _, k := range []kind{
		{"policy", "", "", "check --policy FILE LOG", "FILE:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"policy of the folder", "", "vramsoak.yaml", "check LOG", "vramsoak.yaml:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"dialect file", "", "", "parse --dialect-file FILE LOG", "FILE:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"scenario", "", "", "simulate FILE", "FILE:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"scenario to validate", "", "", "validate FILE --gpu A100-40GB", "FILE:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"profile", "", "", "validate " + fixture(t, "scenarios/transcription-after.yaml") + " --gpu RTX4090 --profile FILE", "FILE:1:1: expected a file of at most 64.0 KiB, found SIZE"},
		{"manifest", "", "manifest.json", "soak --files FILE -- true {}", "FILE: expected a file of at most "},
		{"manifest of a folder", "", "manifest.json", "soak --files DIR -- true {}", "FILE: expected a file of at most "},
		{"list", "", "list.txt", "soak --files FILE -- true {}", "FILE:1: expected a line of at most 64 KiB, found a longer one"},
		{"run.json", "", "run.json", "soak --resume DIR", "FILE: expected a file of at most 8 MiB, found"},
		{"batch.jsonl", "", "batch.jsonl", "soak --resume DIR", "FILE:1: expected a line of at most 64 KiB, found a longer one"},
		{"verdict.json", "", "verdict.json", "baseline save DIR", "FILE: expected a file of at most "},
		{"baseline", `{"schema":"vramsoak.baseline/1",`, "", "compare FILE LOG", "FILE: expected a baseline of at most 64 MiB, found"},
		{"snapshot", "", "", "snapshot FILE", `FILE: byte 0: expected a pickle of protocol 2 to 5, found "\x00\x00`},
		{"trace", "", "", "replay FILE --capacity 8GiB", "FILE:1:1048577: expected the end of an operation, found more than 1 MiB"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, endless := range []bool{false, true} {
				dir := t.TempDir()
				log, file, size := filepath.Join(dir, "soak.log"), filepath.Join(dir, "file"), "2.00 GiB"
				if k.file != "" {
					file = filepath.Join(dir, k.file)
				}
				if err := os.WriteFile(log, []byte(aLog), 0o600); err != nil {
					t.Fatal(err)
				}
				runJSON := fmt.Sprintf(`{"schema":"vramsoak.run/1","command":["true","{}"],"config":{"folder":%q}}`, dir)
				if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(runJSON), 0o600); err != nil {
					t.Fatal(err)
				}
				switch {
				case !endless:
					sparse(t, file, k.head)
				case k.head != "" || k.name == "batch.jsonl": // /dev/zero begins otherwise, and is no run folder's file
					continue
				default:
					_ = os.Remove(file) // it may be the one of the run
					if err := os.Symlink("/dev/zero", file); err != nil {
						t.Fatal(err)
					}
					size = "more"
				}
				names := strings.NewReplacer("FILE", file, "DIR", dir, "LOG", log, "SIZE", size)
				got := measuredRun(t, dir, strings.Fields(names.Replace(k.args))...)
				if want := names.Replace(k.want); got.code != 2 || !strings.Contains(got.err, want) {
					t.Errorf("exit code %d, expected 2 and an error with\n%s\ngot\n%.500s", got.code, want, got.err)
				}
				if got.peak > refusedMax {
					t.Errorf("%s: %s were resident, expected at most %s", got.err, parser.FormatBytes(got.peak), parser.FormatBytes(refusedMax))
				}
				t.Logf("%s: %s", parser.FormatBytes(got.peak), got.err)
			}
		})
	}
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../fixtures", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// readMax is what may be resident of a process that reads so many bytes, unpacked.
func readMax(unpacked int64) int64 { return 20*unpacked + 64*parser.MiB }

// TestHostileSnapshots: what a snapshot takes in memory is bounded by what has been unpacked of it,
// whatever it is made of.
func TestHostileSnapshots(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const n = 8 << 20
	repeat := func(head, item, tail string) []byte {
		return []byte("\x80\x04" + head + strings.Repeat(item, n/len(item)) + tail)
	}
	const (
		block   = "}(\x8c\x04sizeM\x00\x02\x8c\x05state\x8c\x08inactiveu"
		segment = "}(\x8c\x07addressK\x00\x8c\x0atotal_sizeK\x00\x8c\x06blocks]"
		frames  = segment + "\x8c\x06frames]("
		events  = "}(\x8c\x08segments]\x8c\x0ddevice_traces](]("
	)
	for name, data := range map[string][]byte{
		"lists in lists":     repeat("", "](", ""),
		"empty lists":        repeat("](", "]", "e."),
		"kept lists":         repeat("](", "]\x94", "e."),
		"the same list":      repeat("]\x94(", "h\x00", "e."),
		"kept":               repeat("]", "\x94", "."),
		"None":               repeat("](", "N", "e."),
		"None in batches":    repeat("](", strings.Repeat("N", 1000)+"e(", "e."),
		"tuples of one":      repeat("N", "\x85", "."),
		"marks":              repeat("", "(", ""),
		"frames":             repeat("]("+frames, "}", "eue."),
		"the same frame":     repeat("]("+segment+"\x8c\x06frames](}\x94", "h\x00", "eue."),
		"segments":           repeat("](", segment+"u", "e."),
		"blocks":             repeat("]("+"}(\x8c\x07addressK\x00\x8c\x0atotal_sizeJ\x00\x00\x00\x7f\x8c\x06blocks](", block, "eue."),
		"events":             repeat(events, "}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x01\x8c\x04addrK\x00u", "eeu."),
		"unknown events":     repeat(events, "}(\x8c\x06action\x8c\x00u", "eeu."),
		"annotations":        repeat("}(\x8c\x08segments]\x8c\x14external_annotations](", "}", "eu."),
		"a long string":      []byte("\x80\x04]\x8d" + "\x00\x00\x80\x00\x00\x00\x00\x00" + strings.Repeat("a", n) + "."),
		"a frame of 2^62":    repeat("\x95\x00\x00\x00\x00\x00\x00\x00\x40](", "]", "e."),
		"different strings":  distinct(n),
		"zeros after a head": append([]byte("\x80\x04"), make([]byte, n)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.pickle")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got := measuredRun(t, "", "snapshot", "--format", "json", path)
			t.Logf("%s, exit code %d: %.200s", parser.FormatBytes(got.peak), got.code, got.err)
			limit := readMax(int64(len(data)))
			if _, at, ok := strings.Cut(got.err, ": byte "); ok && (strings.Contains(at, "exhaust memory") || strings.Contains(at, "instruction")) {
				at, _, _ = strings.Cut(at, ":")
				n, err := strconv.ParseInt(at, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				limit = readMax(n)
			}
			if got.peak > limit {
				t.Errorf("%s were resident, expected at most %s", parser.FormatBytes(got.peak), parser.FormatBytes(limit))
			}
			if got.code != 0 && got.code != 2 {
				t.Errorf("exit code %d: %.300s", got.code, got.err)
			}
		})
	}
}

// distinct is a snapshot of frames that all have another name.
func distinct(n int) []byte {
	b := []byte("\x80\x04](}(\x8c\x07addressK\x00\x8c\x0atotal_sizeK\x00\x8c\x06blocks]\x8c\x06frames](")
	for i := 0; len(b) < n; i++ {
		b = append(b, "}(\x8c\x04name\x8c\x04"...)
		b = append(b, byte('0'+i&63), byte('0'+i>>6&63), byte('0'+i>>12&63), byte('0'+i>>18&63))
		b = append(b, 'u')
	}
	return append(b, "eue."...)
}

// TestCompressedSnapshotBombs: a small file that unpacks to a large pickle, which takes more memory
// still, is refused by what it unpacks to.
func TestCompressedSnapshotBombs(t *testing.T) {
	t.Parallel()
	lists := append([]byte("\x80\x04]("), bytes.Repeat([]byte("]"), 64<<20)...)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	zst := encoder.EncodeAll(lists, nil)
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	w, err := gzip.NewWriterLevel(&gz, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(lists); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// A pickle that is not dense by itself, and becomes large by its repetition.
	texts := encoder.EncodeAll(append([]byte("\x80\x04]("), bytes.Repeat([]byte("\x8c\x40"+strings.Repeat("a", 64)), 1<<20)...), nil)
	small := runs("\x80\x04](", ']', 59<<20) // earlier versions took 4.5 GB for it
	if len(small) > 2000 {
		t.Fatalf("%d bytes, expected fewer than 2 kB", len(small))
	}
	for name, data := range map[string][]byte{"zst": zst, "gz": gz.Bytes(), "texts.zst": texts, "runs.zst": small} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.pickle."+name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got := measuredRun(t, "", "snapshot", path)
			t.Logf("%d bytes: %s: %s", len(data), parser.FormatBytes(got.peak), got.err)
			if got.code != 2 || !strings.Contains(got.err, "expected a pickle that unpacks to at most 100 times its size") {
				t.Errorf("exit code %d: %s", got.code, got.err)
			}
			if got.peak > refusedMax {
				t.Errorf("%s were resident, expected at most %s", parser.FormatBytes(got.peak), parser.FormatBytes(refusedMax))
			}
		})
	}
}

// runs is a zstd file of a text and a byte so many times, in blocks of one run of 128 KiB each: no file
// unpacks to more.
func runs(head string, item byte, n int) []byte {
	block := func(b []byte, size, kind int, content string) []byte {
		h := size<<3 | kind<<1
		if n == 0 {
			h |= 1 // the last
		}
		return append(append(b, byte(h), byte(h>>8), byte(h>>16)), content...)
	}
	b := block([]byte("\x28\xb5\x2f\xfd\x00\x38"), len(head), 0, head) // a window of 128 KiB
	for n > 0 {
		size := min(n, 128<<10)
		n -= size
		b = block(b, size, 1, string(item))
	}
	return b
}

// TestZstdWindow: a file of 20 bytes that asks for a window of 128 MiB is refused.
func TestZstdWindow(t *testing.T) {
	t.Parallel()
	const head = "\x28\xb5\x2f\xfd" + "\x00" + "\x88" // no content size; an exponent of 17: 2^(10+17) bytes
	path := filepath.Join(t.TempDir(), "x.zst")
	if err := os.WriteFile(path, []byte(head+"\x55\x00\x00a"), 0o600); err != nil { // 10 times "a"
		t.Fatal(err)
	}
	for _, args := range [][]string{{"snapshot", path}, {"check", path}} {
		got := measuredRun(t, "", args...)
		const want = "expected a zstd file with a window of at most 8 MiB, found a larger one; unpack it first, with zstd -d --long=31"
		if got.code != 2 || !strings.Contains(got.err, want) || got.peak > refusedMax {
			t.Errorf("%s: exit code %d, %s: %s", args[0], got.code, parser.FormatBytes(got.peak), got.err)
		}
	}
}

// printed is a line of a log.
const printed = "[GPU Memory] %s: Allocated: %d.00GB | Reserved: 2.00GB | Total: 24.00GB | allocated=%d " +
	"reserved=2147483648 %s\n"

// logOf writes a log of so many things, each with a pair of readings.
func logOf(t *testing.T, n int, write func(b *bytes.Buffer, i int)) (path string, size int64) {
	t.Helper()
	var b bytes.Buffer
	for i := range n {
		write(&b, i)
	}
	path = filepath.Join(t.TempDir(), "hostile.log")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, int64(b.Len())
}

// TestManyOfAll judges a log of 20,000 devices, of as many ranks, and of 200,000 cleanups or
// stages. All are judged: one cleanup among them that frees nothing fails the run, and is named.
// The report lists at most 256 that say the same, and sums the others.
func TestManyOfAll(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const gib = 1 << 30
	// pair is a cleanup of 1 GiB; the last keeps it.
	pair := func(b *bytes.Buffer, name, lane string, keeps bool) {
		after := 0
		if keeps {
			after = 1
		}
		fmt.Fprintf(b, printed, "Before "+name, 1, gib, lane)
		fmt.Fprintf(b, printed, "After "+name, after, after*gib, lane)
	}
	for _, tt := range []struct {
		name        string
		n           int
		write       func(b *bytes.Buffer, i int, keeps bool)
		fails, rest string
	}{
		{"devices", 20_000, func(b *bytes.Buffer, i int, keeps bool) {
			pair(b, "Model Cleanup", fmt.Sprintf("device=%d", i), keeps)
		}, "Model Cleanup (device 19999)", "19,743 others"},
		{"ranks", 20_000, func(b *bytes.Buffer, i int, keeps bool) {
			pair(b, "Model Cleanup", fmt.Sprintf("device=0 rank=%d", i), keeps)
		}, "Model Cleanup (rank 19999, device 0)", "19,743 others"},
		{"cleanups", 200_000, func(b *bytes.Buffer, i int, keeps bool) {
			pair(b, fmt.Sprintf("Stage%d Cleanup", i), "device=0", keeps)
		}, "Stage199999 Cleanup", "199,743 others"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, size := logOf(t, tt.n, func(b *bytes.Buffer, i int) { tt.write(b, i, i == tt.n-1) })
			formats := []string{"text", "json"}
			if tt.name == "devices" {
				formats = append(formats, "junit", "markdown")
			}
			for _, format := range formats {
				got := measuredRun(t, "", "check", "--format", format, path)
				t.Logf("%s: %s of %s, %d bytes", format, parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)), len(got.out))
				if got.code != 1 || !strings.Contains(got.out, tt.fails) {
					t.Errorf("%s: exit code %d, expected 1 and %s named: %.300s", format, got.code, tt.fails, got.err)
				}
				if format != "markdown" && !strings.Contains(got.out, tt.rest) { // it has less room
					t.Errorf("%s: expected %s", format, tt.rest)
				}
				if len(got.out) > 512<<10 {
					t.Errorf("%s: a report of %d bytes", format, len(got.out))
				}
				if got.peak > readMax(size) {
					t.Errorf("%s: %s were resident, expected at most %s", format, parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)))
				}
			}
			if tt.name != "devices" {
				return
			}
			// To compare takes a statistic for each metric of each lane, a picture a curve: a quarter of the lanes do here.
			quarter, part := logOf(t, tt.n/4, func(b *bytes.Buffer, i int) { tt.write(b, i, false) })
			for _, read := range []struct {
				args []string
				size int64 // of the logs
			}{
				{[]string{"plot", "-o", filepath.Join(t.TempDir(), "a.png"), quarter}, part},
				{[]string{"compare", quarter, quarter}, 2 * part},
			} {
				args, size := read.args, read.size
				got := measuredRun(t, "", args...)
				t.Logf("%s: %s of %s", args[0], parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)))
				if got.code != 0 && got.code != 3 || got.peak > readMax(size) {
					t.Errorf("%s: exit code %d, %s were resident, expected at most %s: %.300s", args[0], got.code,
						parser.FormatBytes(got.peak), parser.FormatBytes(readMax(size)), got.err)
				}
			}
		})
	}
}

// TestLongLineInSoak: a pipeline that prints 100 MB without a newline takes no more of the soak than one
// that prints next to nothing.
func TestLongLineInSoak(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const script = `echo "[GPU Memory] Before X Cleanup: Allocated: 1.00GB"; %s
echo "[GPU Memory] After X Cleanup: Allocated: 0.00GB"`
	soak := func(command string) ran {
		dir := t.TempDir()
		return measuredRun(t, dir, "soak", "--runs", dir, "--", "sh", "-c", fmt.Sprintf(script, command))
	}
	idle := soak("")
	if idle.code != 0 {
		t.Fatalf("exit code %d: %s", idle.code, idle.err)
	}
	for _, command := range []string{
		"head -c 100000000 /dev/zero",
		"printf '[vramsoak] file-start path='; head -c 100000000 /dev/zero", // as the harness would
	} {
		got := soak(command)
		t.Logf("%s: %s, exit code %d", command, parser.FormatBytes(got.peak), got.code)
		if got.peak > idle.peak+64*parser.MiB {
			t.Errorf("%s: %s were resident, %s without it", command,
				parser.FormatBytes(got.peak), parser.FormatBytes(idle.peak))
		}
	}
}
