package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vramsoak/parser"
	"vramsoak/pipeline/meter"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"vramsoak": main,
		"pipeline": pipelineMain,
	})
}

// TestScripts runs the command lines of testdata/script. "exits N COMMAND..." runs a command that must end with code N.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
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

// scriptCommands are what scripts have beside testscript's own.
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

// pipelineMain is a pipeline as a user's is: a process that prints checkpoints. It takes paths as arguments, or one a line
// on standard input; --keep keeps the model of every file, --crash-at N dies at file N of the batch, --silent prints
// nothing, --protocol tells which file it works on, --leak keeps 1 MiB of every file, --follow 1 MiB for each byte of the
// last one.
func pipelineMain() {
	const model = 512 << 20
	var files []string
	keep, silent, protocol, leak, follow, crashAt := false, false, false, false, false, 0
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
		c := parser.Checkpoint{Name: name}
		c.Set(parser.Allocated, parser.Exact(level))
		c.Set(parser.Reserved, parser.Exact(level))
		c.Set(parser.Total, parser.Exact(8<<30))
		fmt.Println(string(c.AppendLine(nil)))
	}
	for i, path := range slices.Clone(files) {
		if protocol {
			fmt.Println(string(parser.FileStart{Pipeline: true, Path: path}.AppendLine(nil)))
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
			fmt.Println(string(parser.FileEnd{Pipeline: true, Path: path, Status: parser.StatusOK}.AppendLine(nil)))
		}
	}
}
