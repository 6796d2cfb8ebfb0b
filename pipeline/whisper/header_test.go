//go:build whisper

package whisper

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLoadRefusesOtherFiles: for a file that is not a whisper.cpp model, that is cut off at any
// place or that has wrong numbers, Load returns an error and does not end the process.
func TestLoadRefusesOtherFiles(t *testing.T) {
	initHere(t)
	whole, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	number := func(at int, value int32) []byte {
		changed := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(changed[at:], uint32(value))
		return changed
	}
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"empty": {nil, "is empty"},
		"ONNX": {
			[]byte("\x08\x07\x12\x07pytorch" + strings.Repeat("\x00", 64)),
			`which begins with "lmgg", found one of 75 bytes that begins with "\b\a\x12\a"`,
		},
		"GGUF":              {[]byte("GGUF" + strings.Repeat("\x00", 64)), `begins with "GGUF"`},
		"in the header":     {whole[:20], "found one of 20 bytes"},
		"in the vocabulary": {whole[:100_000], "the file is cut off"},
		"no tensors":        {whole[:700_000], "the file is cut off"},
		"in the tensors":    {whole[:len(whole)/2], "the file is cut off"},
		"in the last one": {
			whole[:len(whole)-1],
			"in the middle of its data; the file is cut off",
		},
		"no vocabulary": {number(4, 0), "expected n_vocab from 1 to 1048576, found 0"},
		"endless layers": {
			number(4+4*4, 1<<30),
			"expected n_audio_layer from 1 to 1024, found 1073741824",
		},
		"other layers": {number(4+4*4, 100), ""},
		"other width":  {number(4+2*4, 96), ""},
		"other type":   {number(4+10*4, 77), "found ftype 77"},
	} {
		path := filepath.Join(t.TempDir(), "model.bin")
		if err := os.WriteFile(path, test.content, 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := Load(path)
		if err == nil {
			t.Errorf("%s: loaded, expected an error: %v", name, m.Close())
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(),
			test.want) {
			t.Errorf("%s: expected %q, found %v", name, test.want, err)
		}
	}
}

func TestCheckLanguage(t *testing.T) {
	initHere(t)
	m, err := Load(model)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	for language, want := range map[string]string{
		"en": "", "auto": "",
		"xx": `expected en for a model that knows only English, found "xx"`,
	} {
		if err := m.CheckLanguage(language); err == nil != (want == "") || err != nil &&
			err.Error() != want {
			t.Errorf("%s: found %v", language, err)
		}
	}
}
