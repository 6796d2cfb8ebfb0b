package allocator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/pipeline/allocator"
)

// TestConfigAccepted lists settings that PyTorch's own library accepts, with their effect. The
// effects were found by allocations with that library.
func TestConfigAccepted(t *testing.T) {
	all := func(n int64) (d [16]int64) {
		for i := range d {
			d[i] = n
		}
		return d
	}
	for _, c := range []struct {
		conf string
		want allocator.Config
	}{
		{"", allocator.Config{}},
		{"max_split_size_mb:64", allocator.Config{MaxSplitSize: 64 << 20}},
		// Blanks are ignored.
		{" max_split_size_mb : 6 4 ", allocator.Config{MaxSplitSize: 64 << 20}},
		// stoi ignores the text after the number.
		{"max_split_size_mb:64MB", allocator.Config{MaxSplitSize: 64 << 20}},
		// PyTorch reads a negative number as a very large one: no limit.
		{"max_split_size_mb:-1", allocator.Config{}},
		{"max_split_size_mb:64,", allocator.Config{MaxSplitSize: 64 << 20}},
		{"max_split_size_mb:64,max_split_size_mb:128", allocator.Config{MaxSplitSize: 128 << 20}},
		{"max_non_split_rounding_mb:21", allocator.Config{MaxNonSplitRounding: 21 << 20}},
		{"garbage_collection_threshold:0.8", allocator.Config{GarbageCollectionThreshold: 0.8}},
		{"garbage_collection_threshold:0x1p-1", allocator.Config{GarbageCollectionThreshold: 0.5}},
		{"garbage_collection_threshold:.5e-1x", allocator.Config{GarbageCollectionThreshold: 0.05}},
		{"garbage_collection_threshold:\t+0X.8", allocator.Config{GarbageCollectionThreshold: 0.5}},
		{
			"garbage_collection_threshold:0x1p-1030",
			allocator.Config{GarbageCollectionThreshold: 0x1p-1030},
		},
		{"garbage_collection_threshold:0.25e+", allocator.Config{GarbageCollectionThreshold: 0.25}},
		{"expandable_segments:True", allocator.Config{ExpandableSegments: true}},
		{"expandable_segments:True,expandable_segments:False", allocator.Config{}},
		{"roundup_power2_divisions:4", allocator.Config{RoundupPower2Divisions: all(4)}},
		{"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", allocator.Config{
			RoundupPower2Divisions: [16]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8},
		}},
		{"roundup_power2_divisions:[256:0]", allocator.Config{}},
		{
			"roundup_power2_divisions:[4:2,",
			allocator.Config{RoundupPower2Divisions: [16]int64{2, 2, 2}},
		},
		{"backend:native", allocator.Config{}},
		{
			"release_lock_on_cudamalloc:True,pinned_use_cuda_host_register:True," +
				"pinned_num_register_threads:8", allocator.Config{},
		},
		{
			"release_lock_on_hipmalloc:True,pinned_use_hip_host_register:True," +
				"pinned_use_background_threads:True", allocator.Config{},
		},
	} {
		got, err := allocator.ParseConfig(c.conf)
		if err != nil {
			t.Errorf("%q: %v", c.conf, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-expected +got):\n%s", c.conf, diff)
		}
	}
}

// TestConfigRefused lists settings that PyTorch's own library refuses, with the library's messages.
func TestConfigRefused(t *testing.T) {
	for _, c := range []struct {
		conf   string
		offset int
		text   string
	}{
		{"foo:1", 0, "Unrecognized CachingAllocator option: foo"},
		{",", 0, "Unrecognized CachingAllocator option: ,"},
		{"max_split_size_mb:64,,", 21, "Unrecognized CachingAllocator option: ,"},
		{
			"max_split_size_mb:64;expandable_segments:True", 40,
			"Error parsing CachingAllocator settings, expected ,",
		},
		{"max_split_size_mb", 17, "Error parsing CachingAllocator settings, expected :"},
		{"max_split_size_mb:", 18, "Error, expecting max_split_size_mb value"},
		{
			"max_split_size_mb:20", 18,
			"CachingAllocator option max_split_size_mb too small, must be > 20",
		},
		{"max_split_size_mb:abc", 18, "stoi"},
		{"max_split_size_mb:2147483648", 18, "stoi"},
		{"max_non_split_rounding_mb:20", 26, "CachingAllocator option max_non_split_rounding_mb " +
			"too small, must be > 20"},
		{
			"garbage_collection_threshold:0", 29,
			"garbage_collect_threshold too small, set it 0.0~1.0",
		},
		{
			"garbage_collection_threshold:nan", 29,
			"garbage_collect_threshold too small, set it 0.0~1.0",
		},
		{"garbage_collection_threshold:1", 29, "garbage_collect_threshold too big, set it 0.0~1.0"},
		{
			"garbage_collection_threshold:-inf", 29,
			"garbage_collect_threshold too small, set it 0.0~1.0",
		},
		{
			"garbage_collection_threshold:0x", 29,
			"garbage_collect_threshold too small, set it 0.0~1.0",
		},
		{"garbage_collection_threshold:1e400", 29, "stod"},
		{"garbage_collection_threshold:1e-310", 29, "stod"},
		{"garbage_collection_threshold:.", 29, "stod"},
		{
			"garbage_collection_threshold:", 29,
			"Error, expecting garbage_collection_threshold value",
		},
		{"garbage_collection_threshold:1e-400", 29, "stod"},
		{
			"expandable_segments:true", 20,
			"Expected a single True/False argument for expandable_segments",
		},
		{
			"expandable_segments:", 20,
			"Expected a single True/False argument for expandable_segments",
		},
		{
			"pinned_use_cuda_host_register:", 30,
			"Error, expecting pinned_use_cuda_host_register value",
		},
		{"pinned_num_register_threads:3", 28, "Number of register threads has to be power of 2 "},
		{"pinned_num_register_threads:256", 28, "Number of register threads should be less than " +
			"or equal to 128"},
		{"roundup_power2_divisions:3", 25, "For roundups, the divisons has to be power of 2 "},
		{"roundup_power2_divisions:[4:3]", 28, "For roundups, the divisons has to be power of 2 " +
			"or 0 to disable roundup "},
		{
			"roundup_power2_divisions:[3:4]", 26,
			"For roundups, the intervals have to be power of 2 ",
		},
		{
			"roundup_power2_divisions:[256:1", 31,
			"Error parsing CachingAllocator settings, expected ,",
		},
		{"roundup_power2_divisions:", 25, "Error, expecting roundup_power2_divisions value"},
		{"roundup_power2_divisions:[4:", 28, "Error parsing roundup_power2_divisions value"},
		{
			"roundup_power2_divisions:[-4:1]", 26,
			"For roundups, the intervals have to be power of 2 ",
		},
		{"pinned_num_register_threads:", 28, "Error, expecting pinned_num_register_threads value"},
		{"roundup_power2_divisions:[x:1]", 26, "stoul"},
		{"backend:x", 8, "Unknown allocator backend, options are native and cudaMallocAsync"},
		{"backend:cudaMallocAsync", 8, "PyTorch takes backend:cudaMallocAsync, but this is a " +
			"model of the native backend; leave it out"},
	} {
		_, err := allocator.ParseConfig(c.conf)
		got, ok := errors.AsType[*allocator.ConfigError](err)
		if !ok {
			t.Errorf("%q: got %v, expected a ConfigError", c.conf, err)
			continue
		}
		if got.Offset != c.offset || got.Text != c.text || !strings.HasPrefix(c.conf[got.Offset:],
			got.Found) {
			t.Errorf("%q: %+v, expected %q at %d", c.conf, *got, c.text, c.offset)
		}
	}
}

// TestConfigure: Configure sets settings that are not named to their defaults, except
// expandable_segments and max_non_split_rounding_mb. The settings before a mistake take effect.
func TestConfigure(t *testing.T) {
	a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 1 << 30}),
		allocator.Config{
			MaxSplitSize: 32 << 20, MaxNonSplitRounding: 40 << 20, GarbageCollectionThreshold: 0.5,
			ExpandableSegments: true,
		})
	if err := a.Configure(
		"roundup_power2_divisions:2,max_split_size_mb:1,expandable_segments:False"); err == nil {
		t.Error("max_split_size_mb:1: expected an error")
	}
	err := a.Configure("roundup_power2_divisions:2,backend:cudaMallocAsync")
	if e, ok := errors.AsType[*allocator.ConfigError](err); !ok ||
		e.Text != "Allocator backend parsed at runtime != allocator backend parsed at load time" {
		t.Errorf("a change of the backend: %v", err)
	}
	want := allocator.Config{MaxNonSplitRounding: 40 << 20, ExpandableSegments: true}
	for i := range want.RoundupPower2Divisions {
		want.RoundupPower2Divisions[i] = 2
	}
	if diff := cmp.Diff(want, a.Config()); diff != "" {
		t.Errorf("settings (-expected +got):\n%s", diff)
	}
}

func TestConfigErrorSaysWhatToDo(t *testing.T) {
	for conf, want := range map[string]string{
		"max_split_size_mb:big":    `PYTORCH_CUDA_ALLOC_CONF, byte 18: expected a whole number below 2^31 (PyTorch says only stoi); found "big"`,
		"expandable_segments:true": `PYTORCH_CUDA_ALLOC_CONF, byte 20: Expected a single True/False argument for expandable_segments; found "true"`,
		"max_split_size_mb":        `PYTORCH_CUDA_ALLOC_CONF, byte 17: Error parsing CachingAllocator settings, expected :; found the end`,
	} {
		if _, err := allocator.ParseConfig(conf); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nexpected %s", conf, err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("max_split_size_mb:64,garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,>:4]")
	f.Fuzz(func(t *testing.T, conf string) {
		c, err := allocator.ParseConfig(conf)
		if err != nil {
			got, ok := errors.AsType[*allocator.ConfigError](err)
			if !ok || got.Text == "" || got.Offset < 0 || got.Offset > len(conf) {
				t.Fatalf("%#v", err)
			}
			return
		}
		a := allocator.New(allocator.NewDevice(allocator.DeviceConfig{Total: 1 << 30}), c)
		for _, size := range []int64{1, 1 << 20, 3<<20 + 1, 60<<20 + 1} {
			if b, err := a.Malloc(size, 0); err != nil || a.Size(b) < size {
				t.Fatalf("Malloc(%d): %d bytes, %v", size, a.Size(b), err)
			}
		}
		if err := a.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
