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

// A crasher kills a run at random times and resumes it.
type crasher struct {
	random  *rand.Rand
	dies    victim
	program string   // as which the harness runs; see programs
	logs    []string // paths
	size    int64    // of the logs of a run that was not killed
	hits    int      // how many kills hit a running process
}

// survive starts a run, kills it once or twice, and then calls resume until the run is done.
func (c *crasher) survive(ctx context.Context, args []string,
	resume func(context.Context) (*Outcome, error),
) (*Outcome, error) {
	for range 1 + c.random.IntN(2) {
		if err := c.killOnce(args); err != nil {
			return nil, err
		}
		args = append(args[:2], "resume")
	}
	// If the pipeline was killed before its first file, the run stops, and can be resumed again.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for tries := 0; tries < 3; tries++ {
		o, err := resume(ctx)
		switch {
		case errors.Is(err, journal.ErrBusy) && ctx.Err() == nil:
			tries-- // a child that was forked just before the kill still has the lock
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

// written returns how many bytes the logs have now.
func (c *crasher) written() (size int64) {
	for _, path := range c.logs {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	return size
}

// killOnce starts a harness, and kills the victim of the case when the logs have reached a random
// size.
func (c *crasher) killOnce(args []string) error {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), envProgram+"="+c.program, "GORACE=atexit_sleep_ms=0")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	over := time.After(2 * time.Minute)
	for at := c.random.Int64N(c.size + c.size/8); c.written() < at; {
		select {
		case err := <-ended: // before the logs were so long
			switch {
			case err != nil && strings.Contains(said.String(), journal.ErrBusy.Error()):
				return nil // too busy a machine for another kill
			case err != nil:
				return fmt.Errorf("the harness: %w: %s", err, said.String())
			}
			return c.tear()
		case <-over:
			_ = cmd.Process.Kill()
			return errors.New("the run hangs")
		case <-time.After(time.Millisecond):
		}
	}
	if c.dies == pipelineDies {
		for _, pid := range meter.Tree(cmd.Process.Pid)[1:] {
			if killChild(cmd.Process.Pid, pid) {
				c.hits++
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
		c.hits++
	}
	return c.tear()
}

// killChild kills the process pid if it is still a descendant of the harness, and reports whether
// it did.
func killChild(harness, pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return slices.Contains(meter.Tree(harness), pid) &&
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// tear cuts each log at a random place, as a power failure may. To some logs it then adds NULs or
// random bytes. After a real power failure, the end of a file may hold old bytes of the disk.
func (c *crasher) tear() error {
	if c.dies != machineDies {
		return nil
	}
	for _, log := range c.logs {
		text, err := os.ReadFile(log)
		if errors.Is(err, os.ErrNotExist) {
			continue // the harness was killed before it created the log
		}
		if err != nil {
			return err
		}
		text = text[:c.random.IntN(len(text)+1)]
		switch c.random.IntN(3) {
		case 0:
			text = append(text, make([]byte, c.random.IntN(10_000))...)
		case 1:
			text = append(text, 0xff)
			for range c.random.IntN(300) {
				text = append(text, byte(c.random.Uint32()))
			}
		}
		if err := os.WriteFile(log, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
