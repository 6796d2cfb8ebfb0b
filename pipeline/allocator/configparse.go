package allocator

import (
	"math/bits"
	"strings"
)

// A token is a part of a configuration such as "max_split_size_mb:64": a comma, a colon, a bracket,
// or the text between two of these characters, without blanks.
type token struct {
	text   string
	offset int
}

// lexConfig splits a value of PYTORCH_CUDA_ALLOC_CONF into tokens (PyTorch's
// CUDAAllocatorConfig::lexArgs).
func lexConfig(conf string) []token {
	var tokens []token
	var text []byte
	var begin int
	flush := func() {
		if len(text) > 0 {
			tokens = append(tokens, token{string(text), begin})
			text = text[:0]
		}
	}
	for i := range len(conf) {
		switch c := conf[i]; {
		case strings.IndexByte(",:[]", c) >= 0:
			flush()
			tokens = append(tokens, token{conf[i : i+1], i})
		case c != ' ':
			if len(text) == 0 {
				begin = i
			}
			text = append(text, c)
		}
	}
	flush()
	return tokens
}

// A configParser reads tokens into a Config. tokens[at] is the current token. err is the first
// mistake; after a mistake, the methods set nothing more.
type configParser struct {
	*Config
	conf   string
	loads  bool // the process begins with this configuration, and does not run yet
	tokens []token
	at     int
	err    *ConfigError
}

// parse applies a configuration. loads is true if the process begins with this configuration.
// Before parse reads the options, it sets all of them except expandable_segments and
// max_non_split_rounding_mb to their defaults (PyTorch's CUDAAllocatorConfig::parseArgs).
func (c *Config) parse(conf string, loads bool) error {
	c.MaxSplitSize = 0
	c.RoundupPower2Divisions = [roundupIntervals]int64{}
	c.GarbageCollectionThreshold = 0
	p := &configParser{Config: c, conf: conf, loads: loads, tokens: lexConfig(conf)}
	for p.at < len(p.tokens) && p.err == nil {
		p.option()
		if p.at++; p.at < len(p.tokens) {
			p.expect(",")
			p.at++
		}
	}
	if p.err != nil {
		return p.err
	}
	return nil
}

// option reads one option, such as max_split_size_mb:64, and stops at its last token.
func (p *configParser) option() {
	switch key := p.tokens[p.at].text; key {
	case "max_split_size_mb":
		if n := p.mebibytes(key); p.err == nil {
			// PyTorch reads a negative number as a very large one: no limit.
			p.MaxSplitSize = max(0, n)
		}
	case "max_non_split_rounding_mb":
		if n := p.mebibytes(key); p.err == nil {
			p.MaxNonSplitRounding = n
		}
	case "garbage_collection_threshold":
		p.garbageCollectionThreshold()
	case "roundup_power2_divisions":
		p.roundupPower2Divisions()
	case "backend":
		p.backend()
	case "expandable_segments":
		if on := p.boolean(key, ""); p.err == nil {
			p.ExpandableSegments = on
		}
	case "release_lock_on_cudamalloc", "release_lock_on_hipmalloc":
		p.boolean("release_lock_on_cudamalloc", "")
	case "pinned_use_cuda_host_register", "pinned_use_hip_host_register":
		p.boolean("pinned_use_cuda_host_register",
			"Error, expecting pinned_use_cuda_host_register value")
	case "pinned_use_background_threads":
		p.boolean(key, "Error, expecting pinned_use_background_threads value")
	case "pinned_num_register_threads":
		p.pinnedNumRegisterThreads()
	default:
		p.fail("Unrecognized CachingAllocator option: " + key)
	}
}

// fail records a mistake at the current token, with PyTorch's message, unless there was a mistake
// before.
func (p *configParser) fail(text string) {
	if p.err == nil {
		p.err = &ConfigError{Offset: len(p.conf), Text: text}
		if p.at < len(p.tokens) {
			p.err.Offset, p.err.Found = p.tokens[p.at].offset, p.tokens[p.at].text
		}
	}
}

// expect records a mistake if the current token is not text (PyTorch's consumeToken).
func (p *configParser) expect(text string) {
	if p.at >= len(p.tokens) || p.tokens[p.at].text != text {
		p.fail("Error parsing CachingAllocator settings, expected " + text)
	}
}

// value moves past the option's name and the colon, and returns the token after the colon. ok is
// false after a mistake. missing is the error message for settings that end after the colon.
func (p *configParser) value(missing string) (string, bool) {
	p.at++
	p.expect(":")
	if p.err == nil {
		if p.at++; p.at < len(p.tokens) {
			return p.tokens[p.at].text, true
		}
		p.fail(missing)
	}
	return "", false
}

// integer converts a text to a number as C++'s stoi does.
func (p *configParser) integer(text string) int64 {
	n, mistake := stoi(text)
	if mistake != "" {
		p.fail(mistake)
	}
	return n
}

// mebibytes reads a number of MiB, which must be above 20, and returns it in bytes. It returns -1
// MiB for any negative number, because PyTorch converts such a number to a very large size
// (parseMaxSplitSize and parseMaxNonSplitRoundingSize).
func (p *configParser) mebibytes(key string) int64 {
	text, ok := p.value("Error, expecting " + key + " value")
	if !ok {
		return 0
	}
	n := p.integer(text)
	if p.err == nil && n >= 0 && n <= largeBuffer>>20 {
		p.fail("CachingAllocator option " + key + " too small, must be > 20")
	}
	if n < 0 {
		n = -1 // PyTorch: a very large size_t
	}
	return n << 20
}

// garbageCollectionThreshold reads a number between 0 and 1 (PyTorch's
// parseGarbageCollectionThreshold).
func (p *configParser) garbageCollectionThreshold() {
	text, ok := p.value("Error, expecting garbage_collection_threshold value")
	if !ok {
		return
	}
	f, mistake := stod(text)
	switch {
	case mistake != "":
		p.fail(mistake)
	case !(f > 0):
		p.fail("garbage_collect_threshold too small, set it 0.0~1.0")
	case !(f < 1):
		p.fail("garbage_collect_threshold too big, set it 0.0~1.0")
	default:
		p.GarbageCollectionThreshold = f
	}
}

// boolean reads True or False. missing is the error message for settings that end before the value,
// or "" for the message that most options have.
func (p *configParser) boolean(key, missing string) bool {
	expected := "Expected a single True/False argument for " + key
	if missing == "" {
		missing = expected
	}
	text, ok := p.value(missing)
	if ok && text != "True" && text != "False" {
		p.fail(expected)
	}
	return text == "True"
}

// pinnedNumRegisterThreads checks that the number is a power of 2 up to 128. The model does not use
// the number (PyTorch's parsePinnedNumRegisterThreads).
func (p *configParser) pinnedNumRegisterThreads() {
	text, ok := p.value("Error, expecting pinned_num_register_threads value")
	if !ok {
		return
	}
	switch n := p.integer(text); {
	case !isPowerOf2(uint64(n)):
		p.fail("Number of register threads has to be power of 2 ")
	case n > 128 || n < 0:
		p.fail("Number of register threads should be less than or equal to 128")
	}
}

// backend reads the allocator's backend, which must be native. PyTorch also accepts cudaMallocAsync
// at the start of a process, but cannot switch to it later (PyTorch's parseAllocatorConfig).
func (p *configParser) backend() {
	text, ok := p.value("Error parsing backend value")
	switch {
	case !ok || text == "native":
	case text == "cudaMallocAsync" && p.loads:
		p.fail("PyTorch takes backend:cudaMallocAsync, but this is a model of the native " +
			"backend; leave it out")
	case text == "cudaMallocAsync":
		p.fail("Allocator backend parsed at runtime != allocator backend parsed at load time")
	default:
		p.fail("Unknown allocator backend, options are native and cudaMallocAsync")
	}
}

// roundupPower2Divisions reads one number of divisions for all intervals, such as 4, or a list such
// as [256:1,512:2,>:8], which gives a number of divisions for each size in MiB (PyTorch's
// parseRoundUpPower2Divisions).
func (p *configParser) roundupPower2Divisions() {
	text, ok := p.value("Error, expecting roundup_power2_divisions value")
	if !ok {
		return
	}
	if text != "[" {
		n := p.integer(text)
		if !isPowerOf2(uint64(n)) {
			p.fail("For roundups, the divisons has to be power of 2 ")
		}
		if p.err == nil {
			p.fill(0, n)
		}
		return
	}
	first, last := true, 0
	for p.at++; p.err == nil && p.at < len(p.tokens) && p.tokens[p.at].text != "]"; p.at++ {
		start := p.at
		text, ok := p.value("Error parsing roundup_power2_divisions value")
		if !ok {
			return
		}
		n := p.integer(text)
		if n != 0 && !isPowerOf2(uint64(n)) {
			p.fail("For roundups, the divisons has to be power of 2 or 0 to disable roundup ")
		}
		if p.err != nil {
			return
		}
		if interval := p.tokens[start].text; interval == ">" {
			p.fill(last, n)
		} else {
			mib, mistake := stoul(interval)
			if mistake != "" {
				p.at = start
				p.fail(mistake)
				return
			}
			if !isPowerOf2(mib) {
				p.at = start
				p.fail("For roundups, the intervals have to be power of 2 ")
				return
			}
			last = min(bits.Len64(mib)-1, roundupIntervals-1)
			if first {
				for i := range last {
					p.RoundupPower2Divisions[i] = n
				}
				first = false
			}
			p.RoundupPower2Divisions[last] = n
		}
		// After a list without its closing bracket, PyTorch reports that a comma is missing.
		if p.at+1 >= len(p.tokens) || p.tokens[p.at+1].text != "]" {
			p.at++
			p.expect(",")
		}
	}
}

// fill sets the divisions of the interval with index from, and of all later ones, to n.
func (p *configParser) fill(from int, n int64) {
	for i := from; i < roundupIntervals; i++ {
		p.RoundupPower2Divisions[i] = n
	}
}

func isPowerOf2(n uint64) bool { return n != 0 && n&(n-1) == 0 }
