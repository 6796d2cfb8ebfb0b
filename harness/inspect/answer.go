package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"vramsoak/harness/supervise"
)

// answerSchema is the value of "schema" in an answer. It changes with the format.
const answerSchema = "vramlog.tensors/1"

// answerMax is the longest answer that is read, in bytes. vramlook.py answers with 200 groups at
// most, and each takes less than 4 KiB.
const answerMax = 1 << 20

// A Request says which tensors to ask for.
type Request struct {
	Most   int    // groups; the process has a limit of its own
	Device string // such as "cuda:0"; "" for all
}

// An Answer is the live tensors of a process.
type Answer struct {
	Schema string `json:"schema"`
	PID    int    `json:"pid"`
	// Rank is the rank of the process in a distributed job, or "".
	Rank   string `json:"rank"`
	Python string `json:"python"` // version
	Torch  string `json:"torch"`  // version; "" if the process has not imported torch
	// Devices has the sums for each device. Memory that several tensors share counts once.
	Devices []Device `json:"devices"`
	Groups  []Group  `json:"groups"` // the largest first, GPUs before the CPU
	More    Sums     `json:"more"`   // of the groups that were left out
	Seconds float64  `json:"seconds"`
	// HostPID is the PID in the PID namespace of this program, or 0 if the process has none there. A
	// process in a container has another PID there than here.
	HostPID int `json:"-"`
	// Error says why the process cannot answer.
	Error string `json:"error,omitempty"`
}

// A Device is a device with tensors.
type Device struct {
	Device string `json:"device"` // "cuda:0", "cpu"
	Count  int    `json:"count"`  // tensors
	Bytes  int64  `json:"bytes"`
	// Allocated and Reserved are what PyTorch's allocator has on a GPU; 0 elsewhere.
	Allocated int64 `json:"allocated,omitempty"`
	Reserved  int64 `json:"reserved,omitempty"`
}

// A Group is a number of tensors with the same shape, type, device and referrer.
type Group struct {
	Shape  []int64 `json:"shape"`
	DType  string  `json:"dtype"` // "float32"
	Device string  `json:"device"`
	// Where names what refers to the tensors, such as "list pipeline.kept"; "" if that is not known.
	Where string `json:"where"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// Sums are the sums over groups.
type Sums struct {
	Groups int   `json:"groups"`
	Count  int   `json:"count"`
	Bytes  int64 `json:"bytes"`
}

// Ask asks a process for its tensors.
func (p Process) Ask(ctx context.Context, r Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	conn, pid, err := dial(ctx, p.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the answer is read, or the error is known
	if supervise.Stopped(pid) {
		return nil, fmt.Errorf("%s: expected a process that runs, found pid %d stopped by a signal; "+
			"kill -CONT %[2]d lets it go on", p.Path, pid)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request, err := json.Marshal(struct {
		Ask    string `json:"ask"`
		Most   int    `json:"most"`
		Device string `json:"device,omitempty"`
	}{"tensors", r.Most, r.Device})
	if err == nil {
		_, err = conn.Write(append(request, '\n'))
	}
	var answer *Answer
	if err == nil {
		answer, err = read(conn)
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return nil, fmt.Errorf("%s: %w, and left its socket", p.Path, ErrEnded)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s: expected an answer within %v, found none; the process answers "+
			"only while Python can switch threads, which a call into C or CUDA can prevent",
			p.Path, Patience)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	case answer.Error != "":
		return nil, fmt.Errorf("%s: the process cannot answer: %s", p.Path, answer.Error)
	}
	answer.HostPID = pid
	return answer, nil
}

// read reads an answer, which is one line.
func read(r io.Reader) (*Answer, error) {
	line, err := bufio.NewReader(io.LimitReader(r, answerMax)).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, errors.New("expected an answer, found none: the process ended, or it belongs " +
			"to another user")
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("expected a line of at most %d bytes, found %d bytes without an end",
			answerMax, len(line))
	case err != nil:
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return nil, fmt.Errorf("expected an answer of vramlook.py: %w", err)
	}
	if a.Schema != answerSchema {
		return nil, fmt.Errorf("expected an answer with the schema %s, found %q; copy vramlog.py, "+
			"vramlook.py and vramfree.py of this version of vramsoak", answerSchema, a.Schema)
	}
	return &a, a.check()
}

// check returns an error if a number in the answer cannot be right.
func (a *Answer) check() error {
	wrong := a.More.Groups < 0 || a.More.Count < 0 || a.More.Bytes < 0
	for _, d := range a.Devices {
		wrong = wrong || d.Count < 0 || d.Bytes < 0 || d.Allocated < 0 || d.Reserved < 0
	}
	for _, g := range a.Groups {
		wrong = wrong || g.Count < 0 || g.Bytes < 0
	}
	if wrong {
		return errors.New("expected numbers from 0 on in the answer, found a negative one")
	}
	return nil
}
