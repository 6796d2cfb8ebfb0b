package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vramsoak/fixtures/golden"
	"vramsoak/parser/record"
	"vramsoak/pipeline/meter"
)

func TestMain(m *testing.M) {
	testscript.Main(waiting{m}, map[string]func(){
		"vramsoak": main,
		"pipeline": pipelineMain,
		"attached": attachedMain,
	})
}

// waiting are tests that wait for processes and hardly compute, so more of them run at once than
// there are processors.
type waiting struct{ *testing.M }

func (w waiting) Run() int {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = n.Value.Set("8") // a valid number
	}
	return w.M.Run()
}

// attachedMain runs the command in its arguments as if a terminal had started it: SIGHUP and
// SIGQUIT have their default effect, even if nohup made the tests ignore them. A signal that is
// caught gets the default in a new program.
func attachedMain() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGQUIT)
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}

// TestScripts runs the command lines of testdata/script. "exits N COMMAND..." runs a command that
// must end with code N.
func TestScripts(t *testing.T) {
	if golden.Updating() {
		golden.Watch(t, "testdata/script/*.txtar")
	}
	dir, files := "testdata/script", []string(nil)
	if testing.Short() {
		dir, files = "", quickScripts(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		UpdateScripts:       golden.Updating(),
		Setup: func(env *testscript.Env) error {
			fixtures, err := filepath.Abs("../../fixtures")
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("COLUMNS", "2000") // so that a script can look for whole sentences
			env.Setenv("GOGC", "400")     // the garbage collector would take a quarter of the time
			return err
		},
		Condition: func(name string) (bool, error) {
			if name != "gpu" { // there is an NVIDIA driver
				return false, fmt.Errorf("unknown condition %q", name)
			}
			nvml, err := meter.OpenNVML()
			if err == nil {
				err = nvml.Close()
			}
			return err == nil, nil
		},
		Cmds: scriptCommands,
	})
}

// slowScripts take seconds each: they wait for processes or simulate.
var slowScripts = []string{
	"calibrate", "fail-fast", "follow", "gpus", "history", "live", "restart", "resume", "secret",
	"simulate",
	"soak", "supervise", "typo",
	"validate",
}

// quickScripts returns all other scripts.
func quickScripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) <= len(slowScripts) {
		t.Fatalf("scripts: %q, %v", all, err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return slices.Contains(slowScripts, strings.TrimSuffix(filepath.Base(path), ".txtar"))
	})
}

// scriptCommands are the commands that scripts have in addition to testscript's own.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits": func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: exits CODE COMMAND...")
		}
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		got := 0
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				ts.Fatalf("%v", err)
			}
			got = exit.ExitCode()
		}
		if got != want {
			ts.Fatalf("exit code %d, want %d", got, want)
		}
	},
}

// pipelineMain is a pipeline like a user's: a process that prints checkpoints. Paths are its
// arguments, or come one per line on standard input. Its flags are:
//
//   - --keep keeps the model of every file, --leak keeps 1 MiB of every file, --follow keeps 1 MiB
//     for each byte of the last one
//   - --crash-at N dies at file N of the batch
//   - --once FAULT has a fault the first time it comes to file N: fail:N, crash:N, or, for the
//     soak, kill:N, interrupt:N and quit:N
//   - --silent prints nothing, --protocol prints which file it works on
//   - --token VALUE is ignored, --pace DURATION is the time that each checkpoint takes
func pipelineMain() {
	const model = 512 << 20
	var files []string
	keep, silent, protocol, leak, follow, crashAt := false, false, false, false, false, 0
	pace := time.Duration(0)
	once := func(int) (failed bool) { return false }
	for args := os.Args[1:]; len(args) > 0; args = args[1:] {
		switch args[0] {
		case "--keep":
			keep = true
		case "--silent":
			silent = true
		case "--protocol":
			protocol = true
		case "--leak":
			leak = true
		case "--follow":
			follow = true
		case "--crash-at":
			crashAt, _ = strconv.Atoi(args[1])
			args = args[1:]
		case "--pace":
			pace, _ = time.ParseDuration(args[1])
			args = args[1:]
		case "--token", "--hf-auth":
			args = args[1:]
		case "--once":
			once = faultOf(args[1])
			args = args[1:]
		case "--list":
			text, err := os.ReadFile(args[1])
			if err != nil {
				panic(err)
			}
			files = strings.Fields(string(text))
			args = args[1:]
		default:
			files = append(files, args[0])
		}
	}
	if len(files) == 0 {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			files = append(files, lines.Text())
		}
	}
	if silent {
		fmt.Println("working, but telling nothing")
		return
	}
	first, err := strconv.Atoi(os.Getenv("VRAMSOAK_FIRST"))
	if err != nil {
		first = 1
	}
	const piece = 1 << 20
	level := int64(piece)
	say := func(name string) {
		c := record.Checkpoint{Name: name}
		c.Set(record.Allocated, record.Exact(level))
		c.Set(record.Reserved, record.Exact(level))
		c.Set(record.Total, record.Exact(8<<30))
		fmt.Println(string(c.AppendLine(nil)))
		time.Sleep(pace)
	}
	for i, path := range slices.Clone(files) {
		if protocol {
			fmt.Println(string(record.FileStart{Pipeline: true, Path: path}.AppendLine(nil)))
		}
		say("Before Transcription")
		idle := level
		if leak {
			idle += piece
		}
		if info, err := os.Stat(path); err == nil && follow {
			idle = piece * (1 + info.Size())
		}
		level += model
		status := record.StatusOK
		if once(first + i) {
			status = record.StatusFailed
		}
		if first+i == crashAt {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		say("Before Whisper Cleanup")
		if !keep {
			level = idle
		}
		say("After Whisper Cleanup")
		say("After Transcription (post-cleanup)")
		level = idle
		if protocol {
			fmt.Println(string(record.FileEnd{
				Pipeline: true, Path: path,
				Status: status,
			}.AppendLine(nil)))
		}
	}
}

// awaitLog waits until a soak's log, in a folder of the current one, has everything that was
// printed for a file so far.
func awaitLog(file int) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var logs []string
		for _, pattern := range []string{"soak.log", "gpu-*/soak.log", "shard-*/soak.log"} {
			found, _ := filepath.Glob("*/*/" + pattern)
			logs = append(logs, found...)
		}
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			i := bytes.LastIndex(text, []byte("[vramsoak] file-start"))
			if i >= 0 && bytes.Contains(text[i:], fmt.Appendf(nil, " index=%d ", file)) &&
				bytes.Contains(text[i:], []byte("Before Transcription")) &&
				!bytes.Contains(text[i:], []byte("[vramsoak] run-end")) {
				return
			}
		}
	}
}

// faultOf returns a fault that happens once. A file in the current folder records that it has
// happened.
func faultOf(fault string) func(file int) (failed bool) {
	kind, at, _ := strings.Cut(fault, ":")
	return func(file int) bool {
		if strconv.Itoa(file) != at || os.Mkdir("did-"+kind, 0o755) != nil {
			return false
		}
		awaitLog(file)
		victim, sig := os.Getppid(), syscall.SIGKILL
		switch kind {
		case "fail":
			return true
		case "crash":
			victim = os.Getpid()
		case "interrupt":
			sig = syscall.SIGINT
		case "quit":
			sig = syscall.SIGQUIT
		}
		_ = syscall.Kill(victim, sig)
		select {}
	}
}
