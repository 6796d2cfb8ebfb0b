//go:build whisper

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/parser/bounded"
	"vramsoak/pipeline/onnx"
)

// A worker is a separate process for one stage of one file. It runs this program, which then serves
// the methods of [Stage]. The worker ends with the stage, so that the system takes back all memory
// that the stage's libraries keep.
type worker struct {
	stage  string // "whisper", for messages
	cmd    *exec.Cmd
	client *rpc.Client
	ledger *ledger
	// unhook cancels the killing of the process at the end of the context.
	unhook func() bool
	// ended is closed when the process has ended. state then says how it ended, and last holds the
	// end of its output.
	ended chan struct{}
	state *os.ProcessState
	last  *bounded.Tail
}

// errWorkerOutOfMemory is in the error of a worker whose memory ran out.
var errWorkerOutOfMemory = errors.New("out of memory")

// The file descriptors that a worker has open when it begins.
const (
	workerSocket = 3 + iota
	workerAudio
)

// startWorker starts a process for a stage and gives it the audio. When ctx ends, the process is
// killed, because C++ code cannot be stopped in another way. The process also dies with the thread
// that started it, which is the thread of the batch.
func startWorker(ctx context.Context, stage string, l *ledger, pcm []float32) (*worker, error) {
	audio, err := shared(pcm)
	if err != nil {
		return nil, fmt.Errorf("handing audio to the process of stage %s: %w", stage, err)
	}
	defer func() { _ = audio.Close() }() // the worker has its own descriptor
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("a socket for the process of stage %s: %w", stage, err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "worker"), os.NewFile(uintptr(pair[1]), "worker")
	// The connection and the worker have their own descriptors.
	defer func() { _ = errors.Join(ours.Close(), theirs.Close()) }()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable(), workerFlag)
	cmd.Args[0] = os.Args[0]
	last := &bounded.Tail{Limit: 4 << 10}
	said := io.MultiWriter(last, stderr)
	cmd.Stdout, cmd.Stderr = said, said // stdout belongs to the log
	cmd.ExtraFiles = []*os.File{theirs, audio}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the process of stage %s: %w", stage, err),
			conn.Close())
	}
	w := &worker{
		stage: stage, cmd: cmd, client: rpc.NewClient(conn), ledger: l,
		ended: make(chan struct{}), last: last,
	}
	go func() {
		_ = cmd.Wait() // the state has the result
		w.state = cmd.ProcessState
		close(w.ended)
	}()
	w.unhook = context.AfterFunc(ctx, w.kill)
	return w, nil
}

// shared returns a file in memory that holds the samples. A worker maps this file without copying.
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

// call calls a method of the worker's [Stage]. If the process died, the error says how. If ctx
// ended, call returns the cause.
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
			return fmt.Errorf("%s: %w", text, errWorkerOutOfMemory)
		}
		return said
	}
	return w.death()
}

// death returns an error that says how the process ended. If memory runs out, an engine in C++ may
// throw an exception that nobody catches; stderr then shows it. Or the engine touches pages that
// the system cannot provide, and the system kills the process.
func (w *worker) death() error {
	select {
	case <-w.ended:
	case <-time.After(10 * time.Second):
		w.kill()
		<-w.ended
		return fmt.Errorf("the process of stage %s did not answer any more and was killed", w.stage)
	}
	err := fmt.Errorf("the process of stage %s ended: %v", w.stage, w.state)
	switch status, _ := w.state.Sys().(syscall.WaitStatus); {
	case status.Signal() == syscall.SIGKILL:
		return fmt.Errorf("%w; the system kills a process when memory runs out: %w", err,
			errWorkerOutOfMemory)
	case onnx.SaysOutOfMemory(w.last.String()):
		return fmt.Errorf("%w: %w", err, errWorkerOutOfMemory)
	}
	return err
}

func (w *worker) kill() { _ = w.cmd.Process.Kill() } // the process may have ended already

// Close ends the process and waits until the system has taken back its memory. The process has
// nothing to save.
func (w *worker) Close() error {
	w.unhook()
	w.kill()
	<-w.ended
	w.ledger.remove(w)
	return w.client.Close()
}
