package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// ComfyUI is that of ComfyUI (comfy/model_management.py, comfy/model_patcher.py) and of the
// programs that share its memory management, Stable Diffusion WebUI Forge
// (backend/memory_management.py) and, for the footer, AUTOMATIC1111's (modules/call_queue.py). MB
// is 1<<20, GB is 1<<30.
//
//	[2026-02-19 23:43:51.129] Total VRAM 6144 MB, total RAM 32717 MB
//	[2026-02-19 23:58:20.238] loaded partially; 3139.74 MB usable, 2595.99 MB loaded, 9143.55 MB offloaded, ...
//	[2026-02-19 23:56:39.559] loaded completely;  7672.25 MB loaded, full load: True
//	loaded completely 9.5367431640625e+25 1639.406135559082 True
//	Unloaded partially: 512.00 MB freed, 2083.99 MB remains loaded, 0.00 MB buffer reserved, lowvram patches: 0
//
// What is loaded is a part. What is usable is a budget, and what is offloaded is on the host: they
// give nothing, and neither does a model that is loaded to the host, as the next line then says:
//
//	CLIP/text encoder model load device: cpu, offload device: cpu, current: cpu, dtype: torch.float16
//
// Forge says what is free before it loads, and lets go of models:
//
//	[Unload] Trying to free 8991.55 MB for cuda:0 with 0 models keep loaded ... Current free memory is 5973.43 MB ...
//	Unload model KModel Done.
//	[Memory Management] Target: KModel, Free GPU: 14000.00 MB, Model Require: 9569.49 MB, ..., All loaded to GPU.
//	[Memory Management] Target: KModel, Free GPU: 6144.00 MB, ..., CPU Swap Loaded (blocked method): 3000.00 MB,
//	GPU Loaded: 6569.49 MB
//	[Memory Management] Current Free GPU Memory: 5973.43 MB
//	Memory cleanup has taken 1.93 seconds
//
// The footer under a picture has the peaks while it was made: of active and reserved memory, and of
// what the driver had in use. The peak of active memory is that of allocated, with what waits for a
// stream:
//
//	Torch active/reserved: 4567/5678 MiB, Sys VRAM: 7890/24576 MiB (32.1%)
//	A: 2.91 GB, R: 3.31 GB, Sys: 4.5/8 GB (56.3%)
//
// The nodes for video models (HunyuanVideoWrapper, WanVideoWrapper, KJNodes) say what sampling
// took:
//
//	[2025-02-17 03:10:14.236] Allocated memory: memory=12.735 GB
//	[2025-02-17 03:10:14.236] Max allocated memory: max_memory=17.211 GB
//	[Sampling] Max reserved memory: max_reserved=19.500 GB
var ComfyUI = scan.Dialect{
	Name: "comfyui",
	Needles: []string{
		"Total VRAM ",
		"loaded partially",
		"loaded completely",
		"Unloaded partially: ",
		" models unloaded.",
		"[Memory Management] ",
		"Current free memory is ",
		"[Unload] Trying to free ",
		"Memory cleanup has taken ",
		"Torch active/reserved: ",
		" GB, Sys: ",
		"Got an OOM, unloading all loaded models",
		"Allocated memory: memory=",
		"llocated memory: max_memory=",
		"eserved memory: max_reserved=",
	},
	Read: readComfy,
}

func readComfy(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	starts := func(s string) bool { return len(text) >= len(s) && string(text[:len(s)]) == s }
	switch {
	case starts("Total VRAM "):
		s, end, ok := sizeAt(l, at, at+len("Total VRAM "))
		if !ok || !bytes.HasPrefix(l.Text[end:], []byte(", total RAM ")) {
			return 0
		}
		part(l, at, "total VRAM", record.Lane{}, record.Total, s)
		return end
	case starts("loaded "):
		return readComfyLoaded(l, at)
	case starts("Unloaded "):
		return readComfyUnloaded(l, at)
	case starts("[Memory "):
		return readForge(l, at)
	case starts("Current free memory is "):
		s, end, ok := sizeAt(l, at, at+len("Current free memory is "))
		if ok {
			part(l, at, "free memory", comfyLane(l.Text[:at]), record.Free, s)
		}
		return end
	case starts("Allocated memory: memory="):
		return readNodeMemory(l, at, at, record.Allocated)
	case starts("llocated memory: max_memory="):
		return readNodeMemory(l, at, at-len("Max a"), record.Peak)
	case starts("eserved memory: max_reserved="):
		return readNodeMemory(l, at, at-len("Max r"), record.PeakReserved)
	case starts("Torch "), starts(" GB, "):
		return readFooter(l, at)
	case starts(" models unloaded."):
		if n := lastWord(l.Text[:at]); len(n) == 0 || !lex.IsDigit(n[0]) || n[0] == '0' {
			return 0
		}
	case starts("[Unload] "):
		if !bytes.Contains(lex.FirstBytes(text, scan.Near), []byte(" ... Unload model ")) ||
			source.IsQuotedAt(l.Text, at) {
			return 0
		}
		comfyEvent(l, at, record.EventCleanup)
		return at + len("[Unload] Trying to free ")
	case starts("Memory cleanup"):
		if _, _, ok := lex.CutNumber(text[len("Memory cleanup has taken "):]); !ok {
			return 0
		}
	}
	if source.IsQuotedAt(l.Text, at) {
		return 0
	}
	comfyEvent(l, at, record.EventCleanup)
	return len(l.Text)
}

func comfyEvent(l *scan.Line, at int, kind record.EventKind) {
	from := at - len(lastWord(l.Text[:at]))
	l.Add(
		record.Event{
			Header: l.Header(at),
			Kind:   kind,
			Lane:   comfyLane(lex.FirstBytes(l.Text[at:], scan.Near)),
			Text:   l.Message(from),
		},
	)
}

// readNodeMemory reads the value of a variable that is printed with its name.
func readNodeMemory(l *scan.Line, at, from int, q record.Quantity) (end int) {
	if word := l.Text[max(0, from):at]; from < 0 ||
		from < at && !bytes.EqualFold(word[:len("max ")], []byte("max ")) {
		return 0
	}
	equals := bytes.IndexByte(l.Text[at:], '=')
	s, end, ok := sizeAt(l, from, at+equals+1)
	if ok && s.Bytes >= 0 {
		part(l, from, "memory", record.Lane{}, q, s)
	}
	return end
}

// comfyLane is the lane of "for cuda:0 with".
func comfyLane(text []byte) (lane record.Lane) {
	text = lex.LastBytes(text, scan.Near)
	if i := bytes.LastIndex(text, []byte(" for cuda:")); i >= 0 {
		lane.Device, _, _ = lex.CutInt(text[i+len(" for cuda:"):])
	}
	return lane
}

// readComfyLoaded reads how much of a model was loaded.
func readComfyLoaded(l *scan.Line, at int) (end int) {
	// Both have two words: "loaded partially", "loaded completely".
	rest := bytes.TrimLeft(l.Text[at+len("loaded "):], "abcdefghijklmnopqrstuvwxyz")
	var s record.Size
	var ok bool
	if fields, found := lex.CutPrefix(rest, ";"); found {
		before, _, loaded := bytes.Cut(lex.FirstBytes(fields, scan.Near), []byte(" MB loaded"))
		if !loaded || source.IsTemplate(before) {
			return comfyTorn(l, at, fields)
		}
		s, rest, ok = lex.CutSize(lastWord(before), record.MiB)
	} else {
		// The first number is usable, and 1e32 bytes where there is no limit: 9.5367431640625e+25.
		fields := bytes.Fields(lex.FirstBytes(rest, 100))
		if len(fields) < 3 || !lex.IsDigit(fields[0][0]) {
			return 0
		}
		s, rest, ok = lex.CutSize(fields[1], record.MiB)
	}
	if !ok || len(rest) > 0 || s.Bytes < 0 {
		return 0
	}
	if next, ok := l.Peek(1); ok && bytes.Contains(next, []byte("load device: cpu")) {
		return len(l.Text)
	}
	part(l, at, comfyModel(l)+" loaded", record.Lane{}, record.Buffer, s)
	return len(l.Text)
}

// comfyTorn says that a line of fields such as "3139.74 MB usable, 2595.99 MB lo" was cut.
func comfyTorn(l *scan.Line, at int, fields []byte) (end int) {
	_, rest, ok := lex.CutNumber(lex.TrimBlanks(fields))
	if ok && len(rest) < 40 &&
		bytes.HasPrefix([]byte(" MB usable, "), rest[:min(len(rest), len(" MB usable, "))]) {
		l.Bad(
			at,
			"how much is loaded, such as 2595.99 MB loaded",
			"what cannot be read is left out; the line was cut",
		)
		return len(l.Text)
	}
	return 0
}

// comfyModel is the name of the model that is loaded, where one is: "Requested to load Lumina2".
func comfyModel(l *scan.Line) string {
	name := "model"
	for n := 1; n <= 4; n++ {
		before, ok := l.Previous(n)
		if !ok {
			break
		}
		if bytes.Contains(before, []byte("loaded ")) && bytes.Contains(before, []byte(" MB")) {
			break
		}
		_, model, ok := bytes.Cut(before, []byte("Requested to load "))
		if !ok {
			continue
		}
		if name != "model" {
			return "model" // two were requested, and either may be loaded
		}
		if i := bytes.IndexByte(model, ' '); i > 0 {
			model = model[:i]
		}
		if name = l.Str(model); len(name) == 0 || len(name) > 80 {
			return "model"
		}
	}
	return name
}

// readComfyUnloaded reads what was let go of a model, and what remains of it.
func readComfyUnloaded(l *scan.Line, at int) (end int) {
	freed, after, ok := sizeAt(l, at, at+len("Unloaded partially: "))
	if !ok {
		return after
	}
	rest, ok := lex.CutPrefix(l.Text[after:], " freed, ")
	if !ok {
		return 0
	}
	remains, end, ok := sizeAt(l, at, len(l.Text)-len(rest))
	if !ok {
		return end
	}
	change := record.Change{Header: l.Header(at), Name: "model unloaded"}
	freed.Bytes = -freed.Bytes
	change.Set(record.Buffer, freed)
	l.Add(change)
	part(l, at, "model loaded", record.Lane{}, record.Buffer, remains)
	return len(l.Text)
}
