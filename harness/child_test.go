package harness

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramsoak/harness/queue"
	"vramsoak/harness/supervise"

	"golang.org/x/sys/unix"
)

// envProgram is the environment variable that names the program as which the test binary runs. The
// tests start the test binary as a child of the harness.
const envProgram = "HARNESS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(envProgram); ok {
		program, ok := programs[name]
		if !ok {
			fmt.Println("no such program:", name)
			os.Exit(99)
		}
		program(os.Args[1:])
		os.Exit(0)
	}
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = n.Value.Set("12") // the tests mostly wait for processes
	}
	os.Exit(m.Run())
}

// programs holds, by name, the programs as which the test binary can run.
var programs = map[string]func(args []string){
	"pipeline":   pipeline,
	"steady":     steady,
	"mortal":     mortal,
	"supervisor": func(args []string) { supervisor(args[0]) },
	"print": func(args []string) { // prints what the harness gives it
		first, _ := os.LookupEnv(EnvFirst)
		input, _ := io.ReadAll(os.Stdin)
		group, _ := unix.Getpgid(0)
		fmt.Printf("args=%q first=%s unbuffered=%s stdin=%q leader=%v\n",
			args, first, os.Getenv("PYTHONUNBUFFERED"), input, group == os.Getpid())
		fmt.Fprintln(os.Stderr, "to stderr")
		fmt.Println("to stdout")
	},
	"say": func(args []string) { // NUMBER TEXT...: prints and exits with the number
		fmt.Print(strings.Join(args[1:], " "))
		code, _ := strconv.Atoi(args[0])
		os.Exit(code)
	},
	"long": func([]string) { // prints a long line between checkpoints
		fmt.Println("[GPU Memory] Before Work: Allocated: 1.00GB")
		w := bufio.NewWriterSize(os.Stdout, 1<<20)
		for range longLine / len(longPiece) {
			_, _ = w.WriteString(longPiece)
		}
		_ = w.WriteByte('\n')
		_ = w.Flush()
		fmt.Println("[GPU Memory] After Work: Allocated: 1.00GB")
	},
	"halves": func([]string) { // prints lines in two halves, with samples in between
		for range 3 {
			fmt.Print("[GPU Memory] Before")
			time.Sleep(50 * time.Millisecond)
			fmt.Print(" Work: Allocated: 1.00GB\n")
		}
	},
	// parent starts a child that holds the pipe open, and ends before the child does. Its argument
	// says in which process group or session the child runs, or how long.
	"parent": func(args []string) {
		switch args[0] {
		case "group": // the child runs in the parent's process group
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envProgram+"=sleep")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Start(); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println("grandchild", cmd.Process.Pid)
		case "session": // the child runs in another session
			fmt.Println("grandchild", launch("sleep").Process.Pid)
		case "daemon": // the child runs in another session, and the program that started it ends first
			_ = launch("parent", "session").Wait()
		case "bare": // the child lacks EnvRun; the harness sees it while its parent lives
			_ = os.Unsetenv(supervise.EnvRun)
			_ = os.Unsetenv(supervise.EnvHarness)
			fmt.Println("grandchild", launch("sleep").Process.Pid)
			waitForGo()
		case "helper": // the child exits soon after the parent
			launch("moment")
		}
	},
	"nameless": func([]string) { // leaves a daemon behind that has no environment
		cmd := exec.Command("sleep", "600")
		cmd.Env = []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("grandchild", cmd.Process.Pid)
	},
	"forger":  forger,
	"nobody":  becomeNobody,
	"onGPU":   onGPU,
	"mortals": mortals,
	"moment":  func([]string) { time.Sleep(100 * time.Millisecond) },
	"breeder": func([]string) { // starts 20 daemons that end, and one that does not end
		for range 20 {
			_ = launch("parent", "helper").Wait()
		}
		_ = launch("parent", "session").Wait()
		fmt.Println("all are started")
		waitForGo()
	},
	"daemon": func([]string) { // ignores SIGTERM
		signal.Ignore(unix.SIGTERM)
		fmt.Println("daemon", os.Getpid(), "parent", os.Getppid())
		time.Sleep(10 * time.Minute)
	},
	"daemons": func([]string) { // starts a daemon and lives on
		launch("daemon")
		fmt.Println("pipeline", os.Getpid())
		time.Sleep(10 * time.Minute)
	},
	"grow": func(args []string) { // takes up to half a GiB for the first file
		if args[0] != "f1" {
			return
		}
		signal.Ignore(unix.SIGTERM)
		var held [][]byte
		for range 64 {
			block := make([]byte, 8<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			held = append(held, block)
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		runtime.KeepAlive(held)
	},
	"mute": func([]string) { // closes its output and lives on
		fmt.Println("before")
		_ = os.Stdout.Close()
		_ = os.Stderr.Close()
		time.Sleep(10 * time.Minute)
	},
	"flood": func([]string) { // prints much, as fast as it can, between checkpoints
		fmt.Println("[GPU Memory] Before Work: Allocated: 1.00GB")
		chunk := []byte(strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000))
		for range floodSize / len(chunk) {
			_, _ = os.Stdout.Write(chunk)
		}
		fmt.Println("[GPU Memory] After Work: Allocated: 1.00GB")
	},
	"zombies": func([]string) { // does not wait for its children
		for range 20 {
			launch("say", "0")
		}
		time.Sleep(200 * time.Millisecond)
	},
	"some": func([]string) { // works on up to 100 files
		paths := bufio.NewScanner(os.Stdin)
		for n := 0; n < 100 && paths.Scan(); n++ {
			fmt.Println("[pipeline] file-start path=" + paths.Text())
			fmt.Println("[pipeline] file-end path=" + paths.Text() + " status=ok")
		}
	},
	"nul":   func([]string) { fmt.Print("a\x00b\n\x00\n") },
	"sleep": func([]string) { time.Sleep(10 * time.Minute) },
	"closed": func([]string) { // closes its output and lives for a moment
		fmt.Println("before")
		_ = os.Stdout.Close()
		_ = os.Stderr.Close()
		time.Sleep(100 * time.Millisecond)
		os.Exit(7)
	},
	"endless": func([]string) { // prints for ever
		for {
			if _, err := fmt.Println(strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	},
}

// waitForGo waits until the file that GO names exists. A test creates that file.
func waitForGo() {
	for _, err := os.Stat(os.Getenv("GO")); err != nil; _, err = os.Stat(os.Getenv("GO")) {
		time.Sleep(20 * time.Millisecond)
	}
}

// launch starts the test binary as the named program, in a session of its own.
func launch(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"="+program)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return cmd
}

const (
	longLine  = 24 << 20
	floodSize = 40_000_000
)

var longPiece = strings.Repeat("0123456789abcdef", 256)

// pipeline works on files as a real pipeline does. Its arguments say where it gets the paths: "file
// PATH", "list PATH" or "stdin". Environment variables set the rest. LINES says which file lines it
// prints: both, starts, ends or none. PREAMBLE is a checkpoint that it prints before the first
// file. FAULT lists what goes wrong in which file of the batch: "crash:2 hang:4". File 0 means
// before the first file, and file -1 after the last.
func pipeline(args []string) {
	var paths []string
	switch args[0] {
	case "file":
		paths = args[1:]
	case "list":
		text, err := os.ReadFile(args[1])
		if err != nil {
			fmt.Println(err)
			os.Exit(98)
		}
		paths = strings.Fields(string(text))
	case "stdin":
		text, _ := io.ReadAll(os.Stdin)
		paths = strings.Fields(string(text))
	case "none":
		paths = strings.Fields("x.wav y.wav z.wav")
	}
	faults := map[int]string{}
	for fault := range strings.FieldsSeq(os.Getenv("FAULT")) {
		kind, at, _ := strings.Cut(fault, ":")
		n, _ := strconv.Atoi(at)
		faults[n] = kind
	}
	lines := os.Getenv("LINES")
	first, _ := strconv.Atoi(os.Getenv(EnvFirst))
	_ = suffer(faults[0])
	if name := os.Getenv("PREAMBLE"); name != "" {
		fmt.Printf("[GPU Memory] %s: Allocated: 1.00GB | Total: 24.00GB\n", name)
	}
	for i, path := range paths {
		if lines == "both" || lines == "starts" {
			fmt.Println("[pipeline] file-start path=" + path)
		}
		fmt.Println("[GPU Memory] Before Work: Allocated: 1.00GB | Reserved: 2.00GB | Total: 24.00GB")
		status := suffer(faults[first+i])
		fmt.Println("[GPU Memory] After Work: Allocated: 0.50GB | Reserved: 2.00GB | Total: 24.00GB")
		if lines == "both" || lines == "ends" {
			fmt.Println("[pipeline] file-end path=" + path + " status=" + status)
		}
	}
	_ = suffer(faults[-1])
}

// suffer does what fault says, such as to crash or to hang. If the pipeline goes on after that,
// suffer returns the status of the file.
func suffer(fault string) (status string) {
	switch fault {
	case "crash":
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		time.Sleep(10 * time.Minute)
	case "hang":
		time.Sleep(10 * time.Minute)
	case "stubborn":
		signal.Ignore(unix.SIGTERM)
		fmt.Println("not listening")
		time.Sleep(10 * time.Minute)
	case "polite": // finishes the file when it is asked to end
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, unix.SIGTERM)
		fmt.Println("listening")
		<-asked
	case "exit0":
		os.Exit(0)
	case "exit3":
		fmt.Println("Traceback: no module named torch")
		os.Exit(3)
	case "oom": // the allocation fails, and the pipeline goes on
		fmt.Println("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB")
		return "failed"
	case "oomexit":
		fmt.Println("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB")
		os.Exit(1)
	case "fail":
		return "failed error=\"no audio\""
	}
	return "ok"
}

// supervisor runs a harness in a process of its own, so that a test can kill it or limit the size
// of its files. dir is the run folder.
func supervisor(dir string) {
	if limit := os.Getenv("LIMIT"); limit != "" { // largest size of a file, in bytes
		n, _ := strconv.ParseUint(limit, 10, 64)
		signal.Ignore(unix.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	cfg := Config{
		Command: []string{os.Args[0], "stdin"}, Feed: FeedStdin, Files: inputs(3), Dir: dir,
		Grace:  100 * time.Millisecond,
		Env:    []string{envProgram + "=" + os.Getenv("CHILD"), "GO=" + filepath.Join(dir, "go")},
		Reaper: os.Getenv("REAPER") != "",
	}
	if script := os.Getenv("SCRIPT"); script != "" {
		cfg.Command, cfg.Feed, cfg.RestartEvery = []string{"sh", "-c", script, listMark}, FeedList,
			1
	}
	if os.Getenv("NOBODY") != "" {
		becomeNobody(nil)
	}
	_, err := Run(context.Background(), cfg)
	fmt.Println(err)
}

// becomeNobody makes the process run as the user 65534 (nobody). It exits with code 1 where root
// cannot change its user because there are no other users, as in a user namespace of its own.
func becomeNobody([]string) {
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534),
		syscall.Setuid(65534)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// inputs returns files called f1 to fN.
func inputs(n int) []queue.Input {
	files := make([]queue.Input, n)
	for i := range files {
		files[i] = queue.Input{Path: fmt.Sprintf("f%d", i+1), AudioSeconds: 10}
	}
	return files
}
