//go:build whisper

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vramsoak/pipeline/whisper"
)

// A worker is a process of its own for the work of one stage on one file. It is this program again, which serves the
// methods of [Stage] and ends with the stage: whatever its libraries keep, the system takes back.
type worker struct {
	stage  string // "whisper", for messages
	cmd    *exec.Cmd
	client *rpc.Client
	ledger *ledger
	// unhook undoes that the end of the context kills the process.
	unhook func() bool
	// ended is closed when the process has ended and state says how.
	ended chan struct{}
	state *os.ProcessState
}

// The files that a worker finds open.
const (
	workerSocket = 3 + iota
	workerAudio
)

// startWorker starts a process for a stage, which sees the audio. The process is
// killed when ctx ends: C++ code knows no other way to be stopped. It also dies with this process, or rather with the
// thread that started it, which is the batch's own.
func startWorker(ctx context.Context, stage string, l *ledger, pcm []float32) (*worker, error) {
	audio, err := shared(pcm)
	if err != nil {
		return nil, fmt.Errorf("handing audio to the process of stage %s: %w", stage, err)
	}
	defer func() { _ = audio.Close() }() // the worker has its own
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a socket for the process of stage %s: %w", stage, err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker")
	defer func() { _ = errors.Join(ours.Close(), theirs.Close()) }() // the connection and the worker have their own
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", workerFlag)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // stdout is the log's
	cmd.ExtraFiles = []*os.File{theirs, audio}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the process of stage %s: %w", stage, err), conn.Close())
	}
	w := &worker{stage: stage, cmd: cmd, client: rpc.NewClient(conn), ledger: l, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the state says it too
		w.state = cmd.ProcessState
		close(w.ended)
	}()
	w.unhook = context.AfterFunc(ctx, w.kill)
	return w, nil
}

// shared is a file in memory with the samples. A worker maps it: nothing is copied there.
func shared(pcm []float32) (*os.File, error) {
	fd, err := unix.MemfdCreate("audio", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "audio")
	if _, err := f.Write(bytesOf(pcm)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// call calls a method of the worker's Stage. A process that died is an error that says how; the end of ctx is its cause.
func (w *worker) call(ctx context.Context, method string, args, reply any) error {
	err := w.client.Call("Stage."+method, args, reply)
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if said, ok := errors.AsType[rpc.ServerError](err); ok {
		if text, oom := strings.CutPrefix(string(said), oomMark); oom {
			return fmt.Errorf("%s: %w", text, whisper.ErrOutOfMemory)
		}
		return said
	}
	w.kill() // where it closed its socket and lives
	<-w.ended
	hint := ""
	if status, ok := w.state.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		hint = "; the system kills a process when memory runs out"
	}
	return fmt.Errorf("the process of stage %s ended: %v%s", w.stage, w.state, hint)
}

func (w *worker) kill() { _ = w.cmd.Process.Kill() } // it may have ended

// Close ends the process, which has nothing to save, and waits until the system has taken its memory back.
func (w *worker) Close() error {
	w.unhook()
	w.kill()
	<-w.ended
	w.ledger.remove(w)
	if err := w.client.Close(); !errors.Is(err, rpc.ErrShutdown) { // the connection broke when the process ended
		return err
	}
	return nil
}
