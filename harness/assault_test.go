package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramsoak/harness/journal"
	"vramsoak/pipeline/meter"
)

// An assault is what happens to a run.
type assault struct {
	random  *rand.Rand
	dies    victim
	program string   // that the harness is
	logs    []string // of the run
	size    int64    // of the logs of a run that nothing happened to
	hits    int      // how many kills met a run
}

// survive starts a run, kills it once or twice, and has it go on until it is done.
func (a *assault) survive(ctx context.Context, args []string,
	resume func(context.Context) (*Outcome, error),
) (*Outcome, error) {
	for range 1 + a.random.IntN(2) {
		if err := a.strike(args); err != nil {
			return nil, err
		}
		args = append(args[:2], "resume")
	}
	// A pipeline that was killed before its first file stops the run, which is taken up again all
	// the same.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for tries := 0; tries < 3; tries++ {
		o, err := resume(ctx)
		switch {
		case errors.Is(err, journal.ErrBusy) &&
			ctx.Err() == nil: // what was forked just before the kill is not scheduled
			tries--
		case err != nil:
			return nil, err
		case o.Reason == ReasonDone:
			return o, nil
		case o.Reason == ReasonInterrupted:
			return nil, errors.New("the run hangs")
		}
	}
	return nil, errors.New("the run stops again and again")
}

// written is how long the logs are by now.
func (a *assault) written() (size int64) {
	for _, path := range a.logs {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// strike runs a harness and kills when its logs have reached a length drawn at random.
func (a *assault) strike(args []string) error {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"="+a.program, "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.After(2 * time.Minute)
	for at := a.random.Int64N(a.size + a.size/8); a.written() < at; {
		select {
		case err := <-ended: // before it came so far
			switch {
			case err != nil && strings.Contains(said.String(), journal.ErrBusy.Error()):
				return nil // a machine so busy is no place for a second blow
			case err != nil:
				return fmt.Errorf("the harness: %w: %s", err, said.String())
			}
			return a.tear()
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		case <-time.After(time.Millisecond):
		}
	}
	if a.dies == pipelineDies {
		for _, pid := range meter.Tree(cmd.Process.Pid)[1:] {
			if killChild(cmd.Process.Pid, pid) {
				a.hits++
				break
			}
		}
		select {
		case err := <-ended:
			if err != nil && strings.Contains(said.String(), journal.ErrBusy.Error()) {
				return nil
			}
			return err
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		}
	}
	_ = cmd.Process.Kill()
	if err := <-ended; err != nil {
		a.hits++
	}
	return a.tear()
}

// killChild kills a process if it is still of the harness's.
func killChild(harness, pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return slices.Contains(meter.Tree(harness), pid) &&
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// tear leaves of each log what the end of the machine may leave, of the one more than of the other:
// it ends somewhere, and behind are NULs, or what lay on the disk before.
func (a *assault) tear() error {
	if a.dies != machineDies {
		return nil
	}
	for _, log := range a.logs {
		text, err := os.ReadFile(log)
		if errors.Is(err, os.ErrNotExist) {
			continue // it did not come so far
		}
		if err != nil {
			return err
		}
		text = text[:a.random.IntN(len(text)+1)]
		switch a.random.IntN(3) {
		case 0:
			text = append(text, make([]byte, a.random.IntN(10_000))...)
		case 1:
			text = append(text, 0xff)
			for range a.random.IntN(300) {
				text = append(text, byte(a.random.Uint32()))
			}
		}
		if err := os.WriteFile(log, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
