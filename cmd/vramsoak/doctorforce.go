package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"vramsoak/harness/inspect"
	"vramsoak/harness/runfolder"
	"vramsoak/harness/supervise"
	"vramsoak/reports/sink"
	"vramsoak/reports/text"
)

// askers is how many processes are asked at once, and maxAsked how many at all. Processes that have
// ended and left their sockets do not count.
const (
	askers   = 8
	maxAsked = 256
)

// showTensors asks the processes of a run which tensors they have, and prints what they answer. It
// returns an error if no process answers, or if one of them fails to.
func showTensors(ctx context.Context, out io.Writer, dir string, opts doctorOptions) error {
	dir = runfolder.Around(dir)
	found, err := inspect.Find(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: expected a run folder, found nothing by that name", dir)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; only the user of the run, and root, can ask its processes", err)
	}
	if err != nil {
		return err
	}
	if opts.pid != 0 {
		listening := pidsOf(found)
		found = slices.DeleteFunc(found, func(p inspect.Process) bool { return p.PID != opts.pid })
		if len(found) == 0 && listening != "" {
			return fmt.Errorf("--pid %d: expected one of the processes that listen (%s)", opts.pid,
				listening)
		}
	}
	if len(found) == 0 {
		return nothingListens(dir)
	}
	answers, errs := ask(ctx, found, opts)
	if left := len(found) - len(answers); left > 0 {
		stderr.Printf("vramsoak: %s: asked %d processes; %d more may listen, and --pid asks one\n",
			dir, maxAsked, left)
	}
	var processes []text.TensorProcess
	var trouble []error
	ended := 0
	for i, answer := range answers {
		switch {
		case errors.Is(errs[i], inspect.ErrEnded):
			if ended++; ended <= maxEnded {
				stderr.Printf("vramsoak: %v\n", errs[i])
			}
		case errs[i] != nil:
			trouble = append(trouble, errs[i])
		default:
			command, _ := supervise.CommandOf(answer.HostPID) // "" for a process elsewhere
			processes = append(processes, text.TensorProcess{Command: command, Answer: answer})
		}
	}
	if ended > maxEnded {
		stderr.Printf("vramsoak: %s: %d more processes have ended, and left their sockets\n", dir,
			ended-maxEnded)
	}
	if len(processes) > 0 {
		if err := writeTensors(out, processes, opts.format); err != nil {
			return err
		}
	} else if len(trouble) == 0 {
		return fmt.Errorf("%s: all processes that listened have ended", dir)
	}
	return errors.Join(trouble...)
}

// maxEnded is how many processes that have ended are named.
const maxEnded = 3

func pidsOf(processes []inspect.Process) string {
	pids := make([]string, len(processes))
	for i, p := range processes {
		pids[i] = fmt.Sprint(p.PID)
	}
	return strings.Join(pids, ", ")
}

// ask asks the processes, and returns the answer or the error of each. It asks no more than
// maxAsked that still run, so the answers may be fewer than the processes.
func ask(ctx context.Context, found []inspect.Process, opts doctorOptions) ([]*inspect.Answer,
	[]error,
) {
	request := inspect.Request{Most: opts.top}
	if opts.gpu != "" && opts.gpu != allGPUs {
		request.Device = "cuda:" + opts.gpu
	}
	answers, errs := make([]*inspect.Answer, len(found)), make([]error, len(found))
	turns := make(chan struct{}, askers)
	var all sync.WaitGroup
	var asked atomic.Int64 // processes that run
	begun := 0
	for ; begun < len(found); begun++ {
		turns <- struct{}{}
		if asked.Load() >= maxAsked {
			break
		}
		i := begun
		all.Go(func() {
			answers[i], errs[i] = found[i].Ask(ctx, request)
			if !errors.Is(errs[i], inspect.ErrEnded) {
				asked.Add(1)
			}
			<-turns
		})
	}
	all.Wait()
	return answers[:begun], errs[:begun]
}

// nothingListens returns the error for a folder in which no process listens: why, and what to do.
func nothingListens(dir string) error {
	info, err := runfolder.ReadInfo(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err := runfolder.Open(dir)
		return fmt.Errorf("no process listens there: %w", err)
	case err != nil:
		return err
	case info.Reason != runfolder.Running:
		return fmt.Errorf("%s: expected a run that is still running, found one that has ended (%s)",
			dir, info.Reason)
	}
	return fmt.Errorf("%s: no process of the run listens; copy vramlog.py and vramlook.py beside "+
		"the program, and import vramlog in it; it must not run with VRAMLOG=off or "+
		"VRAMLOG_LISTEN=off. A program in another language cannot be asked, nor a run that was "+
		"killed", dir)
}

// writeTensors prints what the processes have answered.
func writeTensors(out io.Writer, processes []text.TensorProcess, format string) error {
	if format == "text" {
		return text.Tensors(out, processes, textOptions(out))
	}
	type process struct {
		PID     int    `json:"host_pid"` // 0 if the process is in another PID namespace
		Command string `json:"command"`
		*inspect.Answer
	}
	document := struct {
		Schema    string    `json:"schema"`
		Processes []process `json:"processes"`
	}{Schema: "vramsoak.tensors/1"}
	for _, p := range processes {
		document.Processes = append(document.Processes, process{p.HostPID, p.Command, p.Answer})
	}
	return sink.WriteJSON(out, document)
}
