package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"vramsoak/parser"
	"vramsoak/parser/lex"
	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
	"vramsoak/reports/sink"
)

// allocatorConf is the environment variable from which PyTorch's allocator reads its settings.
const allocatorConf = "PYTORCH_CUDA_ALLOC_CONF"

type replayOptions struct {
	capacity, overhead string
	placement, events  string
	conf               string
	trace              trace.Options
}

func newReplayCommand() *cobra.Command {
	opts := replayOptions{}
	cmd := &cobra.Command{
		Use:   "replay TRACE",
		Short: "Replay a trace of allocations on the model of PyTorch's CUDA caching allocator",
		Long: `Replay runs the operations of a trace on a model of PyTorch 2.6's CUDA caching
allocator and of a card. After each operation it prints what torch.cuda.memory_stats would say:
each number as current/peak. At the end it prints a snapshot of all segments and blocks. No
GPU is needed.

A trace has one operation on each line; # begins a comment:

  a ID SIZE [STREAM]   allocate SIZE bytes
  f ID                 free
  s ID STREAM          recordStream
  y                    torch.cuda.synchronize
  e                    torch.cuda.empty_cache
  r                    torch.cuda.reset_peak_memory_stats
  F FRACTION           set_per_process_memory_fraction
  c CONF               settings, as in PYTORCH_CUDA_ALLOC_CONF
  S                    print a snapshot

The output agrees to the last byte with what PyTorch's own library does with the trace: ci/oracle in
vramsoak's repository builds a program that shows that. The TRACE may be compressed (gzip, zstd); -
is standard input.`,
		Example: `  vramsoak replay run.trace --capacity 100M --conf max_split_size_mb:64
  vramsoak replay run.trace --capacity 16GiB --overhead 480MiB --quiet
  zstdcat run.trace.zst | vramsoak replay - --segments`,
		Args: wantsFiles(1, 1, "a trace, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("conf") {
				opts.conf = os.Getenv(allocatorConf)
			}
			return runReplay(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.capacity, "capacity", "80GiB", "memory of the card, such as 100M or 16GiB")
	f.StringVar(&opts.overhead, "overhead", "0",
		"memory that no allocation can get: contexts, other processes")
	f.StringVar(&opts.conf, "conf", "", "the allocator's settings; without it those of "+
		allocatorConf+" in the environment, as in PyTorch")
	choiceVar(f, &opts.placement, "placement", "firstfit", placements,
		"where the driver places segments: firstfit (the lowest hole), up (no address twice) or "+
			"down (the highest hole)")
	choiceVar(f, &opts.events, "events", "done", eventModes,
		"when CUDA events complete: done (at once) or "+
			"pending (at the next synchronize)")
	f.BoolVarP(&opts.trace.Quiet, "quiet", "q", false, "print no line for each operation")
	f.BoolVar(&opts.trace.Segments, "segments", false,
		"print a line for each segment that is allocated or freed, and for each failed allocation")
	f.BoolVar(&opts.trace.NoSnapshot, "no-snapshot", false, "print no snapshot at the end")
	return cmd
}

// device returns the simulated card that the flags describe.
func (o replayOptions) device() (*allocator.Device, error) {
	config := allocator.DeviceConfig{}
	var err error
	if config.Total, err = typedSize("capacity", o.capacity); err != nil {
		return nil, err
	}
	if config.Overhead, err = typedSize("overhead", o.overhead); err != nil {
		return nil, err
	}
	if config.Overhead > config.Total {
		return nil, fmt.Errorf("--overhead: expected at most the card's %s, found %s", o.capacity,
			o.overhead)
	}
	config.Placement = map[string]allocator.Placement{
		"firstfit": allocator.FirstFit, "up": allocator.Up, "down": allocator.Down,
	}[o.placement]
	config.PendingEvents = o.events == "pending"
	return allocator.NewDevice(config), nil
}

// typedSize reads a size that the user typed as the value of a flag.
func typedSize(flag, text string) (int64, error) {
	size, err := lex.ParseSize(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", flag, err)
	}
	if size.Bytes < 0 {
		return 0, fmt.Errorf("--%s: expected a size from 0 on, found %q", flag, text)
	}
	return size.Bytes, nil
}

func runReplay(out, diagnostics io.Writer, path string, opts replayOptions) error {
	device, err := opts.device()
	if err != nil {
		return err
	}
	config, err := allocator.ParseConfig(opts.conf)
	if err != nil {
		return fmt.Errorf("allocator settings: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; expected a trace, such as vramsoak snapshot FILE "+
			"--trace %s/run.trace writes", path, path)
	}
	text, err := parser.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }() // only read
	opts.trace.Name = displayName(path)
	begin := time.Now()
	totals, err := trace.Replay(out, trace.Read(text, opts.trace.Name), device,
		allocator.New(device, config), opts.trace)
	if err != nil {
		return err
	}
	if totals.Events == 0 {
		return emptyError(fmt.Sprintf("%s has no operations; expected a trace, see %s",
			opts.trace.Name, "vramsoak replay --help"))
	}
	if totals.Unknown > 0 {
		_, err = sink.Fprintf(diagnostics, "%d frees of IDs that are not live were skipped, the "+
			"first in %s:%d\n", totals.Unknown, opts.trace.Name, totals.FirstUnknown)
		if err != nil {
			return err
		}
	}
	seconds := time.Since(begin).Seconds()
	_, err = sink.Fprintf(diagnostics, "%d events, %d out of memory, %.3f s, %.0f events/s\n",
		totals.Events, totals.OutOfMemory, seconds,
		float64(totals.Events)/seconds)
	return err
}
