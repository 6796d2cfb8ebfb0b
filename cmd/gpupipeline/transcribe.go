//go:build whisper

package main

// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"

	"vramsoak/parser"
	"vramsoak/pipeline"
	"vramsoak/pipeline/audio"
	"vramsoak/pipeline/meter"
	"vramsoak/pipeline/whisper"
)

// transcribe runs the batch.
func transcribe(ctx context.Context, o *options) (pipeline.Result, error) {
	var none pipeline.Result
	host, err := meter.OpenHost(meter.MallocFixed)
	if err != nil {
		return none, err
	}
	devices, err := whisper.Init(o.verbose)
	if err != nil {
		return none, err
	}
	ledger, err := openLedger(o.device, host, devices)
	if err != nil {
		return none, err
	}
	defer ledger.close()
	info, err := os.Stat(o.model)
	if err != nil {
		return none, fmt.Errorf("--model: %w", err)
	} else if info.IsDir() {
		return none, fmt.Errorf("--model: expected a file, found the folder %s", o.model)
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o777); err != nil {
			return none, fmt.Errorf("--out: %w", err)
		}
	}
	w := &work{options: o, host: host, ledger: ledger}
	w.runner = &pipeline.Runner{Device: ledger.Device, Log: os.Stdout, Keep: o.faults.Keep}
	batch := &pipeline.Batch{Runner: w.runner, First: o.first, Work: w.file, Failed: report}
	result, err := batch.Run(ctx, paths(ctx, o))
	if err == nil && result.Files == 0 {
		err = errors.New("expected audio files, found no path")
	}
	return result, err
}

func report(f pipeline.File, err error) {
	fmt.Fprintf(os.Stderr, "gpupipeline: file %d, %s: %v\n", f.Index, f.Path, err)
	if p, ok := errors.AsType[*pipeline.PanicError](err); ok {
		fmt.Fprintf(os.Stderr, "%s", p.Stack)
	}
}

// work is what is done on each file.
type work struct {
	*options
	runner *pipeline.Runner
	host   *meter.Host
	ledger *ledger
}

// file is one file's way through the pipeline. The samples lie in the C allocator's memory, where the ledger of a machine
// without a GPU sees them, as it would see a tensor.
func (w *work) file(ctx context.Context, file *pipeline.Scope, f pipeline.File) error {
	pcm := new(meter.Block)
	file.Defer("Final", pcm.Len, func() error {
		pcm.Free()
		return nil
	})
	err := w.runner.Stage(ctx, "Audio Preprocessing", func(ctx context.Context, _ *pipeline.Scope) error {
		return w.read(ctx, f, pcm)
	})
	if err != nil {
		return err
	}
	var transcript whisper.Transcript
	err = w.runner.Stage(ctx, "Transcription", func(ctx context.Context, s *pipeline.Scope) error {
		held := s.Growth()
		model, err := whisper.Load(w.model)
		if err != nil {
			return w.outOfMemory(err, 0)
		}
		s.Defer("Whisper", held, model.Close)
		if err := w.fail(ctx, f); err != nil {
			return err
		}
		transcript, err = model.Transcribe(ctx, pcm.Floats(), whisper.Options{Language: w.language, Threads: w.threads})
		return w.outOfMemory(err, 0)
	})
	if err != nil {
		return err
	}
	return write(w.out, f.Path, audio.Samples{PCM: pcm.Floats()}.Seconds(), transcript)
}

func (w *work) read(ctx context.Context, f pipeline.File, pcm *meter.Block) error {
	samples, err := audio.ReadFile(ctx, f.Path)
	if err != nil {
		return err
	}
	block, err := w.host.Alloc(4 * int64(len(samples.PCM)))
	if err != nil {
		return err
	}
	*pcm = *block
	copy(pcm.Floats(), samples.PCM)
	if w.faults.Leak > 0 {
		return w.leak(w.faults.Leak)
	}
	return nil
}

// fail does what --fault orders at a file.
func (w *work) fail(ctx context.Context, f pipeline.File) error {
	switch w.faults.At[f.Index] {
	case pipeline.FaultOOM:
		reading, err := w.ledger.Read()
		if err != nil {
			return err
		}
		return w.leak(2 * reading.Bytes(parser.Total))
	case pipeline.FaultCrash:
		C.abort() // as a GGML_ASSERT does
	case pipeline.FaultHang:
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// leak allocates memory of the device and forgets it.
func (w *work) leak(n int64) error {
	if w.ledger.gpu == nil {
		_, err := w.host.Alloc(n)
		return err
	}
	_, err := w.ledger.gpu.Alloc(n)
	return w.outOfMemory(err, n)
}

// outOfMemory puts the device's reading into an error of ggml's for want of memory; other errors it returns as they are.
func (w *work) outOfMemory(err error, requested int64) error {
	if !errors.Is(err, whisper.ErrOutOfMemory) {
		return err
	}
	oom := &meter.OutOfMemoryError{Requested: requested, Device: w.ledger.Lane().Device}
	oom.Reading, _ = w.ledger.Read() // an unread device leaves the message's other sizes at 0
	return fmt.Errorf("%w (%w)", oom, err)
}
