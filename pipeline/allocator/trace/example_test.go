package trace_test

import (
	"fmt"
	"os"
	"strings"

	"vramsoak/pipeline/allocator"
	"vramsoak/pipeline/allocator/trace"
)

// ExampleReplay replays a trace on a simulated card of 100 MiB.
func ExampleReplay() {
	text := strings.NewReader("a 1 31457280\nf 1\na 2 1000\n")
	device := allocator.NewDevice(allocator.DeviceConfig{Total: 100 << 20})
	totals, err := trace.Replay(os.Stdout, trace.Read(text, "run.trace"), device,
		allocator.New(device, allocator.Config{}),
		trace.Options{Name: "run.trace", Quiet: true, Segments: true, NoSnapshot: true})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(totals.Events, "operations")
	// Output:
	// > SEGMENT_ALLOC 0x7f0000000000 31457280 stream=(nil)
	//     > SEGMENT_ALLOC 0x7f0001e00000 2097152 stream=(nil)
	// END live=1 alloc=1024/31457280 resv=33554432/33554432 act=1024/31457280 insplit=2096128/2096128 req=1000/31457280 nseg=2/2 nact=1/1 ninsplit=1/1 retries=0 ooms=0 dmalloc=2 dfree=0 oversz=0/0
	// 3 operations
}
