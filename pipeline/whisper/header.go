//go:build whisper

package whisper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// header is the beginning of a model file, in little-endian order, as whisper_model_load in
// whisper.cpp's src/whisper.cpp reads it.
type header struct {
	Magic                                            [4]byte
	Vocabulary                                       int32
	AudioContext, AudioState, AudioHead, AudioLayers int32
	TextContext, TextState, TextHead, TextLayers     int32
	Mels, Format                                     int32
}

// magic are the first four bytes of a model file: GGML_FILE_MAGIC, 0x67676d6c in little-endian
// order.
var magic = [4]byte{'l', 'm', 'g', 'g'}

// checkFile refuses damaged model files that whisper.cpp would accept. whisper.cpp computes
// allocations from the sizes in the header without comparing them with the file. It takes a file
// without tensors for one of its own test files. And it does not notice that a file ends inside the
// last tensor. whisper.cpp itself reports all other damage.
func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err = checkHeader(f, info.Size()); err == nil {
		err = checkTensors(f, info.Size())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func checkHeader(r io.Reader, size int64) error {
	if size == 0 {
		return errors.New("is empty: expected a model in ggml format; copy or download it again")
	}
	var h header
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil && !errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	} else if err != nil || h.Magic != magic {
		return fmt.Errorf("expected a model in ggml format, which begins with %q, found one of "+
			"%d bytes that begins with %q; "+
			"convert it with whisper.cpp's models/convert-pt-to-ggml.py, or download one "+
			"(models/download-ggml-model.sh)", magic, size, h.Magic)
	}
	for _, n := range []struct {
		name  string
		value int32
		most  int32
	}{
		{"n_vocab", h.Vocabulary, 1 << 20},
		{"n_audio_ctx", h.AudioContext, 1 << 16},
		{"n_audio_state", h.AudioState, 1 << 15},
		{"n_audio_head", h.AudioHead, h.AudioState},
		{"n_audio_layer", h.AudioLayers, 1 << 10},
		{"n_text_ctx", h.TextContext, 1 << 16},
		{"n_text_state", h.TextState, 1 << 15},
		{"n_text_head", h.TextHead, h.TextState},
		{"n_text_layer", h.TextLayers, 1 << 10},
		{"n_mels", h.Mels, 1 << 10},
	} {
		if n.value < 1 || n.value > n.most {
			return fmt.Errorf("expected %s from 1 to %d, found %d; the file is damaged, copy or "+
				"download it again", n.name, n.most, n.value)
		}
	}
	// ggml_ftype_to_ggml_type in ggml.c aborts the process for other formats. Format / 1000 is a
	// version number.
	if f := h.Format % 1000; f < 0 || f > 26 || f >= 4 && f <= 6 {
		return fmt.Errorf("expected a format of weights that ggml knows, found ftype %d; the "+
			"file is damaged, copy or download it again", h.Format)
	}
	// The file must contain at least the embeddings of all tokens. In ggml's smallest format a
	// weight takes two bits, so four weights take a byte.
	if least := int64(h.Vocabulary) * int64(h.TextState) / 4; size < least {
		return fmt.Errorf("expected %d bytes or more for the vectors of %d tokens, found %d; the "+
			"file is cut off, copy or download it again",
			least, h.Vocabulary, size)
	}
	return nil
}
