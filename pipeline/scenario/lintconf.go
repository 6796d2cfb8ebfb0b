package scenario

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
	"vramsoak/pipeline/allocator"
)

// The environment variables that hold allocator settings, in the order in which PyTorch reads them:
// the first that is set wins. PyTorch 2.6 reads the first one and, on AMD cards, the second
// (c10/cuda/CUDAAllocatorConfig.h, CUDAAllocatorConfig::instance). PyTorch 2.9 and later read all
// three in this order (c10/core/AllocatorConfig.cpp).
const (
	cudaVariable = "PYTORCH_CUDA_ALLOC_CONF"
	hipVariable  = "PYTORCH_HIP_ALLOC_CONF"
	newVariable  = "PYTORCH_ALLOC_CONF"
)

var confVariables = []string{cudaVariable, hipVariable, newVariable}

// AllocConf returns the allocator settings that PyTorch uses, such as max_split_size_mb:64, and the
// environment variable that holds them. Both are "" if no variable is set. AllocConf ignores
// PYTORCH_HIP_ALLOC_CONF, which is for AMD cards: a scenario's card is one from NVIDIA.
func (s *Scenario) AllocConf() (variable, conf string) {
	for _, name := range []string{cudaVariable, newVariable} {
		if conf, set := s.Env[name]; set {
			return name, conf
		}
	}
	return "", ""
}

// options are the names of the options that PyTorch 2.6 accepts (CUDAAllocatorConfig::parseArgs).
var options = []string{
	"backend", "expandable_segments", "garbage_collection_threshold", "max_non_split_rounding_mb",
	"max_split_size_mb",
	"pinned_num_register_threads", "pinned_use_background_threads", "pinned_use_cuda_host_register",
	"release_lock_on_cudamalloc", "roundup_power2_divisions",
}

// maxConf limits the length of allocator settings in bytes. All options together take some 300
// bytes.
const maxConf = 1000

// An option is one option of the allocator settings, such as max_split_size_mb:64, with its
// position.
type option struct {
	text   string
	offset int
	key    string
	value  string
	at     int // offset of the value
}

// optionsOf splits allocator settings at their commas, except commas inside brackets.
func optionsOf(conf string) []option {
	var all []option
	begin, depth := 0, 0
	for i := 0; i <= len(conf); i++ {
		if i < len(conf) {
			switch conf[i] {
			case '[':
				depth++
			case ']':
				depth--
			}
			if conf[i] != ',' || depth > 0 {
				continue
			}
		}
		text := conf[begin:i]
		o := option{text: text, offset: begin + len(text) - len(strings.TrimLeft(text, " ")), at: i}
		key, value, found := strings.Cut(text, ":")
		o.key = strings.TrimSpace(key)
		if found {
			o.value = strings.TrimSpace(value)
			o.at = begin + len(key) + 1 + len(value) - len(strings.TrimLeft(value, " "))
		}
		all = append(all, o)
		begin = i + 1
	}
	return all
}

// WithSettings returns the allocator settings in conf with more settings added. An added setting
// replaces the one of the same name: max_split_size_mb:64 replaces max_split_size_mb:128.
func WithSettings(conf string, settings ...string) string {
	var kept []string
	for _, o := range optionsOf(conf) {
		replaced := slices.ContainsFunc(settings, func(s string) bool {
			return strings.HasPrefix(s, o.key+":")
		})
		if text := strings.TrimSpace(o.text); text != "" && !replaced {
			kept = append(kept, text)
		}
	}
	return strings.Join(append(kept, settings...), ",")
}

// A sayAt adds a mistake at a byte offset of the allocator settings.
type sayAt func(
	severity strictyaml.Severity, rule string, offset int, expected, found, advice string,
)

// conf checks the allocator settings in conf, the value of an environment variable such as
// PYTORCH_CUDA_ALLOC_CONF. It adds an error for each setting that PyTorch refuses, and a warning
// for each that has no effect or an unexpected one.
func (l *linter) conf(variable, conf string) {
	at := func(severity strictyaml.Severity, rule string, offset int, expected, found, advice string) {
		l.say(severity, rule, "env."+variable, conf, offset, expected, found, advice)
	}
	if strings.TrimSpace(conf) == "" {
		return
	}
	if len(conf) > maxConf {
		at(strictyaml.Error, "alloc-conf", 0, fmt.Sprintf("settings of at most %d bytes", maxConf),
			strconv.Itoa(len(conf)), "")
		return
	}
	if i := strings.IndexAny(conf, " \t\n"); i >= 0 {
		at(strictyaml.Warning, "blanks", i, "settings without blanks", strconv.Quote(conf),
			"PyTorch drops blanks, within numbers too, and a shell may end the setting there")
	}
	refused := false
	for _, o := range optionsOf(conf) {
		_, err := allocator.ParseConfig(o.text)
		if bad, ok := errors.AsType[*allocator.ConfigError](err); ok {
			refused = true
			severity, rule, offset, expected, found, advice := refusal(o, bad)
			at(severity, rule, offset, expected, found, advice)
		}
	}
	if refused {
		return
	}
	// Each option alone is valid, but not all of them together, as in "expandable_segments:True,".
	if _, err := allocator.ParseConfig(conf); err != nil {
		bad, _ := errors.AsType[*allocator.ConfigError](err)
		at(strictyaml.Error, "alloc-conf", bad.Offset, "key:value,key:value", strconv.Quote(conf),
			says(bad))
		return
	}
	l.effects(conf, at)
}

func says(e *allocator.ConfigError) string {
	return "PyTorch stops at its first allocation: " + strings.TrimSpace(e.Text)
}

// refusal returns the error for an option that PyTorch refuses, as arguments for a sayAt.
func refusal(o option, bad *allocator.ConfigError) (
	severity strictyaml.Severity, rule string, offset int, expected, found, advice string,
) {
	rule, offset, advice = "alloc-conf", o.at, says(bad)
	found = strconv.Quote(o.value)
	switch {
	case o.text == "":
		return strictyaml.Error, rule, o.offset, "key:value between commas", "nothing", advice
	case !slices.Contains(options, o.key) && !slices.Contains([]string{
		"release_lock_on_hipmalloc",
		"pinned_use_hip_host_register",
	}, o.key):
		key, _, equals := strings.Cut(o.key, "=")
		expected = "one of the options " + strings.Join(options, ", ")
		if near := strictyaml.Nearest(key, options); near != "" {
			expected = near
		}
		if equals && slices.Contains(options, key) {
			expected, advice = "a colon between option and value: "+strings.Replace(o.key, "=", ":",
				1), says(bad)
		}
		found := strconv.Quote(strings.TrimSpace(o.text))
		return strictyaml.Error, rule, o.offset, expected, found, advice
	case o.value == "":
		return strictyaml.Error, rule, o.at, "a value after " + o.key + ":", "none", advice
	case o.key == "backend" && o.value == "cudaMallocAsync":
		return strictyaml.Error, "alloc-backend", o.at, "backend:native", found,
			"that is the driver's own allocator, which ignores the other settings and is not " +
				"modelled: the answer would be of another allocator"
	case o.key == "backend":
		expected = "native" + strictyaml.Meant(o.value, []string{"native", "cudaMallocAsync"})
	case o.key == "expandable_segments" || strings.HasPrefix(o.key, "release_") ||
		strings.HasPrefix(o.key, "pinned_use_"):
		expected = "True or False, with a capital letter"
	case o.key == "max_split_size_mb" || o.key == "max_non_split_rounding_mb":
		expected = "a whole number of MiB above 20"
	case o.key == "garbage_collection_threshold":
		expected = "a share above 0 and below 1, such as 0.8"
	case o.key == "roundup_power2_divisions":
		expected = "a power of two such as 8, or a list such as [256:1,512:2,>:4]"
	default:
		expected = "a power of two up to 128"
	}
	return strictyaml.Error, rule, offset, expected, found, advice
}

// number matches the beginning of a text that C++'s stoi and stod read. Both drop the rest.
var number = regexp.MustCompile(`^[+-]?\d*\.?\d*([eE][+-]?\d+)?`)

// effects warns about settings that PyTorch accepts but reads in another way than a person would
// expect.
func (l *linter) effects(conf string, at sayAt) {
	last := map[string]option{}
	for _, o := range optionsOf(conf) {
		if _, twice := last[o.key]; twice {
			at(strictyaml.Warning, "option-twice", o.offset, "each option once", strconv.Quote(o.key),
				"the last one counts")
		}
		last[o.key] = o
		numeric := strings.HasSuffix(o.key, "_mb") || strings.HasSuffix(o.key, "_threshold") ||
			o.key == "roundup_power2_divisions"
		if tail := number.ReplaceAllString(o.value, ""); numeric && tail != "" &&
			!strings.HasPrefix(o.value, "[") {
			at(strictyaml.Warning, "number-tail", o.at+len(o.value)-len(tail), "a number only",
				strconv.Quote(o.value),
				fmt.Sprintf("PyTorch reads %s and drops %q", strings.TrimSuffix(o.value,
					tail), tail))
		}
		whole := strings.HasSuffix(o.key, "_mb")
		if i := strings.IndexByte(o.value, '.'); whole && i >= 0 {
			at(strictyaml.Warning, "number-tail", o.at+i, "a whole number of MiB", strconv.Quote(o.value),
				"PyTorch drops what follows the point")
		}
		if whole && strings.HasPrefix(o.value, "-") {
			at(strictyaml.Warning, "no-effect", o.at, "a number of MiB above 20", strconv.Quote(o.value),
				"PyTorch reads a negative number as no limit")
		}
	}
	c, err := allocator.ParseConfig(conf)
	if err != nil {
		return // already reported
	}
	l.together(c, last, at)
}

// together warns about options that have no effect, because the memory fraction is not set, because
// of another option, or on this card. last has the last option of each name, which is the one that
// PyTorch uses.
func (l *linter) together(c allocator.Config, last map[string]option, at sayAt) {
	split, gc, rounding := last["max_split_size_mb"], last["garbage_collection_threshold"],
		last["max_non_split_rounding_mb"]
	if gc.key != "" && c.GarbageCollectionThreshold > 0 {
		switch {
		case l.s.MemoryFraction == 0: // 1 is enough: PyTorch only asks whether it was set
			at(strictyaml.Warning, "gc-without-fraction", gc.offset,
				"memory_fraction: beside garbage_collection_threshold", "none",
				"without torch.cuda.set_per_process_memory_fraction the threshold does nothing")
		case c.ExpandableSegments:
			at(strictyaml.Warning, "gc-expandable", gc.offset,
				"garbage_collection_threshold without expandable_segments:True", "both",
				"expandable segments are never collected: the threshold does nothing")
		}
	}
	if c.MaxSplitSize > 0 {
		if c.ExpandableSegments {
			at(strictyaml.Warning, "split-expandable", split.offset,
				"one of max_split_size_mb and expandable_segments:True", "both",
				"expandable segments are used and split whatever the limit: it does nothing")
		}
		if total := l.s.GPU.Total; total > 0 && c.MaxSplitSize >= total {
			at(strictyaml.Warning, "no-effect", split.at, "less than the card's "+record.FormatBytes(total),
				split.value+" MiB", "no block is so large: the limit does nothing")
		}
	}
	if rounding.key != "" && c.MaxSplitSize == 0 {
		at(strictyaml.Warning, "no-effect", rounding.offset,
			"max_split_size_mb beside max_non_split_rounding_mb", "none",
			"it is for blocks above that limit: it does nothing")
	}
	if o := last["roundup_power2_divisions"]; o.key != "" &&
		!slices.ContainsFunc(c.RoundupPower2Divisions[:], func(n int64) bool { return n > 1 }) {
		at(strictyaml.Warning, "no-effect", o.at, "2 or more divisions", strconv.Quote(o.value),
			"1 and 0 round nothing")
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
