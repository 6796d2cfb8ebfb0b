package serving

import (
	"bytes"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/scan"
	"vramsoak/parser/source"
)

// ComfyUI reads the lines about models of ComfyUI (comfy/model_management.py,
// comfy/model_patcher.py) and of Stable Diffusion WebUI Forge, which shares its memory management
// (backend/memory_management.py). programs.yaml has their other lines. MB is 1<<20.
//
//	[2026-02-19 23:58:20.238] loaded partially; 3139.74 MB usable, 2595.99 MB loaded, 9143.55 MB offloaded, ...
//	[2026-02-19 23:56:39.559] loaded completely;  7672.25 MB loaded, full load: True
//	loaded completely 9.5367431640625e+25 1639.406135559082 True
//	Unloaded partially: 512.00 MB freed, 2083.99 MB remains loaded, 0.00 MB buffer reserved, lowvram patches: 0
//
// The loaded size is a buffer. The usable size is a budget, and the offloaded part is in host
// memory: they are not read. A model in host memory is not read either. The next line says where it
// is:
//
//	CLIP/text encoder model load device: cpu, offload device: cpu, current: cpu, dtype: torch.float16
//
// Forge prints the free memory before it loads a model, and unloads other models:
//
//	[Unload] Trying to free 8991.55 MB for cuda:0 with 0 models keep loaded ... Current free memory is 5973.43 MB ...
//	Unload model KModel Done.
//	Memory cleanup has taken 1.93 seconds
var ComfyUI = scan.Dialect{
	Name: "comfyui",
	Needles: []string{
		"loaded partially",
		"loaded completely",
		"Unloaded partially: ",
		" models unloaded.",
		"Current free memory is ",
		"[Unload] Trying to free ",
		"Memory cleanup has taken ",
		"Got an OOM, unloading all loaded models",
	},
	Read: readComfy,
}

func readComfy(l *scan.Line, at int) (end int) {
	text := l.Text[at:]
	starts := func(s string) bool { return len(text) >= len(s) && string(text[:len(s)]) == s }
	switch {
	case starts("loaded "):
		return readComfyLoaded(l, at)
	case starts("Unloaded "):
		return readComfyUnloaded(l, at)
	case starts("Current free memory is "):
		s, end, ok := readSize(l, at, at+len("Current free memory is "))
		if ok {
			addSampled(l, at, "free memory", comfyLane(l.Text[:at]), record.Free, s)
		}
		return end
	case starts(" models unloaded."):
		if n := lastWord(l.Text[:at]); len(n) == 0 || !lex.IsDigit(n[0]) || n[0] == '0' {
			return 0
		}
	case starts("[Unload] "):
		if !bytes.Contains(lex.FirstBytes(text, scan.Near), []byte(" ... Unload model ")) ||
			source.IsQuotedAt(l.Text, at) {
			return 0
		}
		addComfyEvent(l, at)
		return at + len("[Unload] Trying to free ")
	case starts("Memory cleanup"):
		if _, _, ok := lex.CutNumber(text[len("Memory cleanup has taken "):]); !ok {
			return 0
		}
	}
	if source.IsQuotedAt(l.Text, at) {
		return 0
	}
	addComfyEvent(l, at)
	return len(l.Text)
}

// addComfyEvent adds a cleanup. The parameter at is the offset of the needle. The event's text
// begins with the word before the needle, such as "2" in "2 models unloaded.".
func addComfyEvent(l *scan.Line, at int) {
	from := max(at-len(lastWord(l.Text[:at])), min(l.Logger(), at))
	l.Add(record.Event{
		Header: l.Header(at),
		Kind:   record.EventCleanup,
		Lane:   comfyLane(lex.FirstBytes(l.Text[at:], scan.Near)),
		Text:   l.Message(from),
	})
}

// comfyLane returns the device in a text such as "for cuda:0 with", or device 0.
func comfyLane(text []byte) (lane record.Lane) {
	text = lex.LastBytes(text, scan.Near)
	if i := bytes.LastIndex(text, []byte(" for cuda:")); i >= 0 {
		lane.Device, _, _ = lex.CutInt(text[i+len(" for cuda:"):])
	}
	return lane
}

// readComfyLoaded reads how much of a model the program loaded to the device.
func readComfyLoaded(l *scan.Line, at int) (end int) {
	// Skip "loaded partially" or "loaded completely".
	rest := bytes.TrimLeft(l.Text[at+len("loaded "):], "abcdefghijklmnopqrstuvwxyz")
	var s record.Size
	var ok bool
	if fields, found := lex.CutPrefix(rest, ";"); found {
		before, _, loaded := bytes.Cut(lex.FirstBytes(fields, scan.Near), []byte(" MB loaded"))
		if !loaded || source.IsTemplate(before) {
			return addTornComfy(l, at, fields)
		}
		s, rest, ok = lex.CutSize(lastWord(before), record.MiB)
	} else {
		// The first number is the usable memory in MB. Without a limit it is 9.5367431640625e+25
		// (1e32 bytes).
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
	addSampled(l, at, comfyModel(l)+" loaded", record.Lane{}, record.Buffer, s)
	return len(l.Text)
}

// addTornComfy adds an error if the line was cut off inside the fields: "3139.74 MB usable,
// 2595.99 MB lo". It returns 0 for other text.
func addTornComfy(l *scan.Line, at int, fields []byte) (end int) {
	_, rest, ok := lex.CutNumber(lex.TrimBlanks(fields))
	if ok && len(rest) < 40 &&
		bytes.HasPrefix([]byte(" MB usable, "), rest[:min(len(rest), len(" MB usable, "))]) {
		l.Bad(
			at,
			"how much is loaded, such as 2595.99 MB loaded",
			"the value is left out; the line was cut",
		)
		return len(l.Text)
	}
	return 0
}

// comfyModel returns the name of the model that is being loaded, which an earlier line gives, or
// "model":
//
//	Requested to load Lumina2
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
			return "model" // two models were requested, and this may be either of them
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

// readComfyUnloaded reads how much of a model was freed, and how much remains loaded.
func readComfyUnloaded(l *scan.Line, at int) (end int) {
	freed, after, ok := readSize(l, at, at+len("Unloaded partially: "))
	if !ok {
		return after
	}
	rest, ok := lex.CutPrefix(l.Text[after:], " freed, ")
	if !ok {
		return 0
	}
	remains, end, ok := readSize(l, at, len(l.Text)-len(rest))
	if !ok {
		return end
	}
	change := record.Change{Header: l.Header(at), Name: "model unloaded"}
	freed.Bytes = -freed.Bytes
	change.Set(record.Buffer, freed)
	l.Add(change)
	addSampled(l, at, "model loaded", record.Lane{}, record.Buffer, remains)
	return len(l.Text)
}
