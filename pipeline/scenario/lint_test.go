package scenario_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/pipeline/scenario"
)

// lintCases has a case with its message for every rule in the table of the package documentation.
// The function conf makes a scenario whose allocator settings begin on line 1 at column 37.
var lintCases = []struct{ rule, src, want string }{
	{
		"alloc-conf", conf("max_split_size_mb:64,expandable_segments=True"),
		`1:58: expected a colon between option and value: expandable_segments:True, found "expandable_segments=True"; PyTorch stops at its first allocation: Unrecognized CachingAllocator option: expandable_segments=True`,
	},
	{
		"alloc-conf", conf("max_split_size:64"),
		`1:37: expected max_split_size_mb, found "max_split_size:64"; PyTorch stops at its first allocation: Unrecognized CachingAllocator option: max_split_size`,
	},
	{
		"alloc-conf", conf("max_split_size_mb"),
		`1:54: expected a value after max_split_size_mb:, found none; PyTorch stops at its first allocation: Error parsing CachingAllocator settings, expected :`,
	},
	{
		"alloc-conf", conf("garbage_collection_threshold:1.5"),
		`1:66: expected a share above 0 and below 1, such as 0.8, found "1.5"; PyTorch stops at its first allocation: garbage_collect_threshold too big, set it 0.0~1.0`,
	},
	{
		"alloc-conf", conf("roundup_power2_divisions:[256:1,512:3,>:4]"),
		`1:62: expected a power of two such as 8, or a list such as [256:1,512:2,>:4], found "[256:1,512:3,>:4]"; PyTorch stops at its first allocation: For roundups, the divisons has to be power of 2 or 0 to disable roundup`,
	},
	{
		"alloc-conf", conf("roundup_power2_divisions:6"),
		`1:62: expected a power of two such as 8, or a list such as [256:1,512:2,>:4], found "6"; PyTorch stops at its first allocation: For roundups, the divisons has to be power of 2`,
	},
	{
		"alloc-conf", conf("expandable_segments:true"),
		`1:57: expected True or False, with a capital letter, found "true"; PyTorch stops at its first allocation: Expected a single True/False argument for expandable_segments`,
	},
	{
		"alloc-backend", conf("backend:cudaMallocAsync,max_split_size_mb:64"),
		`1:45: expected backend:native, found "cudaMallocAsync"; that is the driver's own allocator, which ignores the other settings and is not modelled: the answer would be of another allocator`,
	},
	{
		"alloc-conf", conf("backend:cudaMalocAsync"),
		`1:45: expected native (did you mean "cudaMallocAsync"?), found "cudaMalocAsync"; PyTorch stops at its first allocation: Unknown allocator backend, options are native and cudaMallocAsync`,
	},
	{
		"no-caching", "env: {PYTORCH_NO_CUDA_MEMORY_CACHING: 1}\n",
		`1:7: expected the caching allocator, found PYTORCH_NO_CUDA_MEMORY_CACHING; PyTorch turns it off where this is set, whatever the value; that is not modelled: leave it out`,
	},
	{
		"batch", stage("batch: 2.5"),
		`1:27: expected a whole number of items, found "2.5"; write 2, or floor(...)`,
	},
	{
		"batch", stage("batch: floor(seconds/1000)"),
		`1:27: expected a batch of 1 or more for every file, found floor(seconds/1000) = 0 in a file of 300 s; write max(1, ...)`,
	},
	{
		"batch", stage("items: ceil(seconds/30), batch: 32"),
		`1:52: warning: expected a batch of up to 10, the items of the longest file, found 32; no batch is ever full: the memory is that of a smaller one`,
	},
	{
		"expression", stage("items: 100 - seconds"),
		`1:27: expected a number of 0 or more for every file, found 100 - seconds = -200 in a file of 300 s`,
	},
	{
		"expression", stage("seconds: 1 / (seconds - 300)"),
		`1:29: expected a number of 0 or more for every file, found 1 / (seconds - 300) = +Inf in a file of 300 s`,
	},
	{
		"expression", stage("tensors: [{name: t, shape: [300 - 2 * seconds]}]"),
		`1:47: expected a number of 0 or more for every file, found 300 - 2 * seconds = -300 in a file of 300 s`,
	},
	{
		"expression", stage("items: 10 / batch"),
		`1:27: expected items by seconds, file, files, total and free, found "10 / batch"; items come first, then the batch`,
	},
	{
		"expression", stage("items: item_seconds"),
		`1:27: expected items by seconds, file, files, total and free, found "item_seconds"; items come first, then the batch`,
	},
	{
		"expression", stage("item_seconds: 2 * item_seconds"),
		`1:34: expected item_seconds by seconds, items, batch, pass, file, files, total and free, found "2 * item_seconds"; it cannot use its own value`,
	},
	{
		"expression", stage("tensors: [{name: t, size: 1MiB, kept: index}]"),
		`1:58: expected index only in the size or the shape of a tensor, found "index"; it is the number of a tensor among its count`,
	},
	{
		"expression", stage("tensors: [{name: t, size: (3 - index) * MiB, count: 4}]"),
		`1:46: expected a number of 0 or more for every file, found (3 - index) * MiB = -1.049e+06 in a file of 300 s`,
	},
	{
		"expression", "files: {count: 3}\n" +
			stage(`tensors: [{name: t, size: "file > 2 ? 0-1 : GiB"}]`),
		`2:47: expected a number of 0 or more for every file, found file > 2 ? 0-1 : GiB = -1 in file 3, of 300 s`,
	},
	{
		"unbounded", stage("items: 100000000000, tensors: [{name: t, size: seconds, each: pass}]"),
		`1:27: expected at most 10000000 passes a file, found 100000000000 (100000000000) in a file of 300 s; each is simulated`,
	},
	{
		"unbounded", stage("tensors: [{name: t, size: seconds - 300, count: 1000000000000}]"),
		`1:68: expected at most 10000000 allocations of tensor t a file, found 1e+12 in a file of 300 s; each is simulated: let one stand for many`,
	},
	{
		"unbounded",
		stage("items: 100000, tensors: [{name: t, size: 1GiB, each: pass, count: 1000}]"),
		`1:86: expected at most 10000000 allocations of tensor t a file, found 1e+08 in a file of 300 s; each is simulated: let one stand for many`,
	},
	{
		"resident-freed", "models: [{id: a, weights: 1GiB, resident: true}]\nstages: [{name: A, " +
			"models: [a], cleanups: [{name: C, frees: [a]}]}]\n",
		`2:44: expected a model that is not resident, found "a"; resident: true is for a model that is never freed: leave out one of the two`,
	},
	{
		"conf-variable", "env:\n  PYTORCH_HIP_ALLOC_CONF: expandable_segments:true\n",
		`2:3: warning: expected PYTORCH_CUDA_ALLOC_CONF, found PYTORCH_HIP_ALLOC_CONF; only PyTorch for AMD cards reads it`,
	},
	{
		"two-confs", "env:\n  PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:64\n " +
			" PYTORCH_ALLOC_CONF: " +
			"max_split_size_mb:32\n",
		`3:3: warning: expected one of PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF, found both; PYTORCH_CUDA_ALLOC_CONF wins and PYTORCH_ALLOC_CONF is not read: delete one of the two`,
	},
	{
		"two-confs", "env:\n  PYTORCH_HIP_ALLOC_CONF: max_split_size_mb:64\n " +
			" PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:32\n",
		`2:3: warning: expected one of PYTORCH_CUDA_ALLOC_CONF and PYTORCH_HIP_ALLOC_CONF, found both; PYTORCH_CUDA_ALLOC_CONF wins and PYTORCH_HIP_ALLOC_CONF is not read: delete one of the two`,
	},
	{
		"conf-variable", "env: {PYTORCH_ALLOC_CONF: max_split_size_mb:64}\n",
		`1:7: warning: expected PYTORCH_CUDA_ALLOC_CONF, found PYTORCH_ALLOC_CONF; PyTorch reads it from 2.9 on; older ones ignore it, and the newer ones still read PYTORCH_CUDA_ALLOC_CONF`,
	},
	{
		"conf-variable", "env: {PYTORCH_CUDA_ALOC_CONF: max_split_size_mb:64}\n",
		`1:7: warning: expected "PYTORCH_CUDA_ALLOC_CONF", found "PYTORCH_CUDA_ALOC_CONF"; PyTorch does not read it`,
	},
	{
		"gc-without-fraction", conf("max_split_size_mb:64,garbage_collection_threshold:0.8"),
		`1:58: warning: expected memory_fraction: beside garbage_collection_threshold, found none; without torch.cuda.set_per_process_memory_fraction the threshold does nothing`,
	},
	{
		"gc-expandable", "memory_fraction: 0.9\n" +
			conf("garbage_collection_threshold:0.8,expandable_segments:True"),
		`2:37: warning: expected garbage_collection_threshold without expandable_segments:True, found both; expandable segments are never collected: the threshold does nothing`,
	},
	{
		"split-expandable", conf("expandable_segments:True,max_split_size_mb:64"),
		`1:62: warning: expected one of max_split_size_mb and expandable_segments:True, found both; expandable segments are used and split whatever the limit: it does nothing`,
	},
	{
		"option-twice", conf("max_split_size_mb:64,max_split_size_mb:128"),
		`1:58: warning: expected each option once, found "max_split_size_mb"; the last one counts`,
	},
	{
		"number-tail", conf("max_split_size_mb:64MB"),
		`1:57: warning: expected a number only, found "64MB"; PyTorch reads 64 and drops "MB"`,
	},
	{
		"number-tail", conf("max_split_size_mb:64.5"),
		`1:57: warning: expected a whole number of MiB, found "64.5"; PyTorch drops what follows the point`,
	},
	{
		"blanks", conf("max_split_size_mb: 64"),
		`1:55: warning: expected settings without blanks, found "max_split_size_mb: 64"; PyTorch drops blanks, within numbers too, and a shell may end the setting there`,
	},
	{
		"no-effect", "gpu: 16GiB\n" + conf("max_split_size_mb:20000"),
		`2:55: warning: expected less than the card's 16.0 GiB, found 20000 MiB; no block is so large: the limit does nothing`,
	},
	{
		"no-effect", conf("max_non_split_rounding_mb:64"),
		`1:37: warning: expected max_split_size_mb beside max_non_split_rounding_mb, found none; it is for blocks above that limit: it does nothing`,
	},
	{
		"no-effect", conf("roundup_power2_divisions:1"),
		`1:62: warning: expected 2 or more divisions, found "1"; 1 and 0 round nothing`,
	},
	{
		"fraction-one", "memory_fraction: 1\n",
		`1:18: warning: expected a share below 1, found 1; 1 limits nothing`,
	},
	{
		"clear-never", "clear: {every: 9}\nfiles: {count: 2}\n",
		`1:16: warning: expected at most 2, the passes of the whole run, found 9; the cache is never emptied by it`,
	},
	{
		"clear-never", "clear: {every: 0}\n",
		`1:16: warning: expected 1 or more passes, found 0; 0 is never: leave it out`,
	},
	{
		"clear-never", "clear: {cleanups: true}\n",
		`1:19: warning: expected cleanups at which to empty the cache, found none; the cache is never emptied by it`,
	},
	{
		"clear-on-start", "clear_on_start: true\n",
		`1:17: warning: expected gpu: {occupied: ...}, which it clears, found nothing occupied; it does nothing`,
	},
	{
		"restart-never", "restart_every: 0\n",
		`1:16: warning: expected 1 or more files, found 0; 0 is never: leave it out`,
	},
	{
		"restart-never", "restart_every: 5\nfiles: {count: 5}\n",
		`1:16: warning: expected less than the 5 files of the run, found 5; the process never begins anew`,
	},
	{
		"unused-model", "models: [{id: a, weights: 1GiB}]\n",
		`1:10: warning: expected a stage that runs it, found "a"; it is never loaded`,
	},
	{
		"unused-parameter", "parameters: {n_mels: 128}\n",
		`1:14: warning: expected an expression that uses it, found "n_mels"; its value changes nothing`,
	},
	{
		"accumulate-never", stage("items: 8, batch: 8, accumulate: 2"),
		`1:52: warning: expected a stage that trains a model, found 2; its passes are only smaller`,
	},
	{
		"accumulate-uneven", "models: [{model: vit-b-16, train: true, dtype: float32}]\n" +
			stage("models: [vit-b-16], items: 12, batch: 12, accumulate: 8"),
		`2:74: warning: expected a number that divides the batch of 12, found 8; here 6 passes of up to 2 items make a step`,
	},
	{
		"training-format", "models: [{model: vit-b-16, train: true}]\n" +
			stage("models: [vit-b-16]"),
		`1:10: warning: expected float32 or autocast in training, found float16; small gradients are lost without a float32 copy of the weights`,
	},
	{
		"train-layers", "models: [{model: vit-b-16, train: true, train_layers: 14, dtype: float32}]\n" +
			stage("models: [vit-b-16]"),
		`1:55: warning: expected at most 12, the layers of vit-b-16, found 14; the whole model trains`,
	},
	{
		"fault-never", "files: {count: 5}\nfaults: [{leak: 1MiB, from_file: 6}]\n",
		`2:10: warning: expected a file up to 5, found 6; it never happens`,
	},
	{
		"fault-never", "models: [{id: a, weights: 1GiB, resident: true}]\nfaults: [{keep: a}]\n" +
			"stages: [{name: A, models: [a]}]\n",
		`2:10: warning: expected what is freed in a file, found "a"; it stays anyway: the fault does nothing`,
	},
}

func conf(value string) string { return `env: {PYTORCH_CUDA_ALLOC_CONF:     "` + value + "\"}\n" }

func stage(fields string) string { return "stages: [{name: A, " + fields + "}]\n" }

func TestLint(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range lintCases {
		src := c.src
		if !strings.Contains(src, "stages:") {
			src += "stages: [{name: A}]\n"
		}
		got, severity := lint(t, src)
		if diff := cmp.Diff("p.yaml:"+c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.rule, diff)
		}
		seen[c.rule+" "+severity] = true
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile(
		`(?m)^//\t([a-z-]+) +(error|warning) `).FindAllStringSubmatch(string(doc), -1) {
		if !seen[row[1]+" "+row[2]] {
			t.Errorf("%s (%s) is in the table, but no case shows it", row[1], row[2])
		}
		delete(seen, row[1]+" "+row[2])
	}
	for rule := range seen {
		t.Errorf("%s has a case, but is not in the table", rule)
	}
}

// lint returns the error with which Read refuses a scenario. If Read accepts the scenario, it
// returns the warnings of Lint.
func lint(t *testing.T, src string) (message, severity string) {
	t.Helper()
	s, err := scenario.Read([]byte(src), "p.yaml")
	if err != nil {
		return err.Error(), "error"
	}
	var all []string
	for _, m := range s.Lint() {
		all = append(all, m.Error())
	}
	return strings.Join(all, "\n"), "warning"
}

// TestWithSettings: a setting replaces an earlier one of the same name. Others stay.
func TestWithSettings(t *testing.T) {
	for _, c := range []struct{ conf, setting, want string }{
		{"", "a:1", "a:1"},
		{"a:2,b:3", "a:1", "b:3,a:1"},
		{"r:[256:1,512:2,>:8],b:3", "b:4", "r:[256:1,512:2,>:8],b:4"},
		{" a:1 , b:2 ", "c:3", "a:1,b:2,c:3"},
	} {
		if got := scenario.WithSettings(c.conf, c.setting); got != c.want {
			t.Errorf("WithSettings(%q, %q) = %q, want %q", c.conf, c.setting, got, c.want)
		}
	}
}

// TestLintGoesByTheFilesGiven: if the caller sets another number of files than the scenario's file,
// the linter uses the caller's number.
func TestLintGoesByTheFilesGiven(t *testing.T) {
	for _, c := range []struct {
		said, given int
		warned      bool
	}{{50, 500, false}, {200, 50, true}, {200, 200, false}} {
		s, err := scenario.Read(fmt.Appendf(nil, "restart_every: 100\nfiles: {count: %d}\n"+
			"stages: [{name: A}]\n", c.said), "p.yaml")
		if err != nil {
			t.Fatal(err)
		}
		s.SetFiles(c.given)
		if got := s.Lint(); (len(got) > 0) != c.warned {
			t.Errorf("count: %d, %d files given: got %v, want a warning: %t", c.said, c.given,
				got, c.warned)
		}
	}
}

func TestRefusedFaultsAndSizes(t *testing.T) {
	once := "stages: [{name: Warm, once: true}, {name: T}]\n"
	for src, want := range map[string]string{
		"faults: [{leak: 1MiB, stage: Warm}]\n" +
			once: `p.yaml:1:30: expected the name of a stage that is made for each file, found "Warm"; there are T`,
		"faults: [{crash: 2, stage: Warm}]\n" +
			once: `p.yaml:1:28: expected the name of a stage that is made for each file, found "Warm"; there are T`,
		"models: [{id: m, weights: 1023TiB}]\n" +
			once: `p.yaml:1:27: expected weights of up to 4.00 TiB, found "1023TiB"`,
		"faults: [{crash: 2}]\nstages: [{name: Warm, once: true}]\n": `p.yaml:1:10: expected a stage that is made for each file, in which it leaks or crashes, found "{crash: 2}"`,
	} {
		if got, _ := lint(t, src); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
