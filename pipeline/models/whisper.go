package models

import (
	"fmt"
	"strings"
)

// whisperDims are the dimensions of a Whisper model, named as in openai-whisper's ModelDimensions.
type whisperDims struct {
	name, id                string
	mels, state, heads      int
	audioLayers, textLayers int
	vocab                   int
}

// whisperSizes are the dimensions of Whisper models, from Radford et al., "Robust Speech
// Recognition via Large-Scale Weak Supervision" (arXiv:2212.04356), table 1, and from config.json
// of each id: num_mel_bins, d_model, encoder_attention_heads, encoder_layers, decoder_layers,
// vocab_size.
var whisperSizes = []whisperDims{
	{"whisper-tiny", "openai/whisper-tiny", 80, 384, 6, 4, 4, 51865},
	{"whisper-tiny.en", "openai/whisper-tiny.en", 80, 384, 6, 4, 4, 51864},
	{"whisper-base", "openai/whisper-base", 80, 512, 8, 6, 6, 51865},
	{"whisper-base.en", "openai/whisper-base.en", 80, 512, 8, 6, 6, 51864},
	{"whisper-small", "openai/whisper-small", 80, 768, 12, 12, 12, 51865},
	{"whisper-small.en", "openai/whisper-small.en", 80, 768, 12, 12, 12, 51864},
	{"whisper-medium", "openai/whisper-medium", 80, 1024, 16, 24, 24, 51865},
	{"whisper-medium.en", "openai/whisper-medium.en", 80, 1024, 16, 24, 24, 51864},
	{"whisper-large-v1", "openai/whisper-large", 80, 1280, 20, 32, 32, 51865},
	{"whisper-large-v2", "openai/whisper-large-v2", 80, 1280, 20, 32, 32, 51865},
	{"whisper-large-v3", "openai/whisper-large-v3", 128, 1280, 20, 32, 32, 51866},
	{"whisper-large-v3-turbo", "openai/whisper-large-v3-turbo", 128, 1280, 20, 32, 4, 51866},
	{"distil-large-v3", "distil-whisper/distil-large-v3", 128, 1280, 20, 32, 2, 51866},
	{"distil-large-v2", "distil-whisper/distil-large-v2", 80, 1280, 20, 32, 2, 51865},
	{"distil-medium.en", "distil-whisper/distil-medium.en", 80, 1024, 16, 24, 2, 51864},
	{"distil-small.en", "distil-whisper/distil-small.en", 80, 768, 12, 12, 4, 51864},
}

const (
	// The number of frames in a window of 30 s, 10 ms each (audio.py: N_FRAMES). Shorter audio is
	// padded.
	whisperFrames    = 3000
	whisperPositions = 1500 // n_audio_ctx: the second convolution halves them
	whisperText      = 448  // n_text_ctx
	whisperPrompt    = 4    // <|startoftranscript|> language task <|notimestamps|>
	cacheGrowths     = 3    // number of steps by which the text's keys and values grow here
)

func whisper() []*Model {
	models := make([]*Model, 0, len(whisperSizes))
	for _, w := range whisperSizes {
		models = append(models, w.model())
	}
	return models
}

// english reports whether the model transcribes only English: this is so for the .en models and all
// distilled models.
func (w whisperDims) english() bool {
	return strings.HasSuffix(w.name, ".en") || strings.HasPrefix(w.name, "distil-")
}

// model returns the model as transformers' WhisperForConditionalGeneration. proj_out.weight is the
// same tensor as decoder.embed_tokens.weight and is listed once.
func (w whisperDims) model() *Model {
	family := "whisper"
	if w.english() {
		family = "whisper.en"
	}
	m := &Model{
		Name: w.name, ID: w.id, Family: family,
		Source: "arXiv:2212.04356, table 1; huggingface.co/" + w.id + ", config.json",
		// openai-whisper generates at most sample_len = n_text_ctx // 2 tokens.
		multiplies: true, usual: Input{Batch: 1, Seconds: 30, Beams: 1, Tokens: whisperText / 2},
	}
	attention := func(s module) {
		s.linear("k_proj", w.state, w.state, false)
		s.linear("v_proj", w.state, w.state, true)
		s.linear("q_proj", w.state, w.state, true)
		s.linear("out_proj", w.state, w.state, true)
	}
	rest := func(s module) {
		s.linear("fc1", w.state, 4*w.state, true)
		s.linear("fc2", 4*w.state, w.state, true)
		s.norm("final_layer_norm", w.state)
	}
	encoder := module{m: m, prefix: "model.encoder."}
	encoder.conv("conv1", true, w.state, w.mels, 3)
	encoder.conv("conv2", true, w.state, w.state, 3)
	encoder.in("embed_positions").parameter("weight", whisperPositions, w.state)
	for i := range w.audioLayers {
		layer := encoder.layer("layers", i)
		attention(layer.in("self_attn"))
		layer.norm("self_attn_layer_norm", w.state)
		rest(layer)
	}
	encoder.last().norm("layer_norm", w.state)
	decoder := module{m: m, prefix: "model.decoder."}
	// The embeddings are also proj_out, so they train with the head.
	tokens := decoder
	tokens.part = w.audioLayers + w.textLayers + 1
	tokens.in("embed_tokens").parameter("weight", w.vocab, w.state)
	positions := decoder
	positions.part = w.audioLayers + 1
	positions.in("embed_positions").parameter("weight", whisperText, w.state)
	var self, cross []string // names of keys and values
	for i := range w.textLayers {
		layer := decoder.layer("layers", i)
		attention(layer.in("self_attn"))
		layer.norm("self_attn_layer_norm", w.state)
		attention(layer.in("encoder_attn"))
		layer.norm("encoder_attn_layer_norm", w.state)
		rest(layer)
		for _, kv := range []string{"keys", "values"} {
			self = append(self, fmt.Sprintf("decoder.layers.%d.self_attn %s", i, kv))
			cross = append(cross, fmt.Sprintf("decoder.layers.%d.encoder_attn %s", i, kv))
		}
	}
	decoder.last().norm("layer_norm", w.state)
	m.forward = func(p *pass, in Input) {
		audio, mel := w.encode(p, in)
		if in.Train {
			w.teach(p, in, audio)
			return
		}
		w.decode(p, in, audio, self, cross)
		p.hold(mel) // transcribe()'s mel_segment
	}
	return m
}

// encode records the encoder over windows of 30 s. Shorter audio is padded. Longer audio must be
// given as several items. It returns the encoded audio and the spectrogram.
func (w whisperDims) encode(p *pass, in Input) (audio, mel ref) {
	d := w.state
	mel = p.float("mel", in.Batch*w.mels*whisperFrames)
	if p.d != Float32 {
		mel = p.op("mel.to(dtype)", in.Batch*w.mels*whisperFrames, mel)
	}
	c := p.op("encoder.conv1", in.Batch*d*whisperFrames, mel)
	p.weight(3 * w.mels * d)
	c = p.op("encoder.gelu", in.Batch*d*whisperFrames, c)
	c = p.op("encoder.conv2", in.Batch*d*whisperPositions, c)
	p.weight(3 * d * d)
	c = p.op("encoder.gelu", in.Batch*d*whisperPositions, c)
	var x ref
	if p.d == Autocast { // positions are float32, and so is the sum
		x = p.op("encoder.hidden_states", in.Batch*whisperPositions*d, p.float("encoder.positions",
			in.Batch*whisperPositions*d, c))
	} else {
		x = p.op("encoder.hidden_states", in.Batch*whisperPositions*d, c)
	}
	for range p.layers(w.audioLayers) {
		p.layer()
		x = p.transformer(x, block{
			tokens: in.Batch * whisperPositions, state: d, heads: w.heads,
			length: whisperPositions, inner: 4 * d,
		})
	}
	audio = p.layerNorm(in.Batch*whisperPositions*d, x)
	p.hold(mel)
	return audio, mel
}

// decode records the decoder that generates in.Tokens tokens for each beam. It computes the keys
// and values of the audio once and keeps them. The keys and values of the text grow with each token
// by torch.cat, which holds the old and the new version of one tensor at a time. The many small
// tensors of single tokens are left out. self and cross are the names of the keys and values of the
// text and of the audio.
func (w whisperDims) decode(p *pass, in Input, audio ref, self, cross []string) {
	sequences := in.Batch * in.Beams
	if in.Beams > 1 {
		audio = p.op("encoder.repeat_interleave", sequences*whisperPositions*w.state, audio)
	}
	cached := make([]ref, 0, 64)
	for _, name := range cross {
		cached = append(cached, p.op(name, sequences*whisperPositions*w.state, audio))
		p.weight(w.state * w.state)
	}
	tokens := min(in.Tokens, whisperText)
	prompt := min(whisperPrompt, tokens)
	x := p.op("decoder.fc1", sequences*prompt*4*w.state)
	logits := p.op("decoder.logits", sequences*prompt*w.vocab, x)
	p.weight(w.state * w.vocab)
	if p.d != Float32 {
		logits = p.float("decoder.logits.float()", sequences*prompt*w.vocab, logits)
	}
	p.float("decoder.log_softmax", sequences*w.vocab, logits)
	grown := make([]ref, len(self), 64)
	for g := 1; g <= cacheGrowths; g++ {
		n := sequences * ((tokens*g + cacheGrowths - 1) / cacheGrowths) * w.state
		for i, name := range self {
			if g == 1 {
				grown[i] = p.op(name, n)
			} else {
				grown[i] = p.op(name, n, grown[i])
			}
		}
	}
	logits = p.op("decoder.logits", sequences*w.vocab)
	p.weight(w.state * w.vocab)
	if p.d != Float32 {
		logits = p.float("decoder.logits.float()", sequences*w.vocab, logits)
	}
	p.float("decoder.log_softmax", sequences*w.vocab, logits)
	p.hold(grown...)
	p.hold(cached...)
	p.hold(audio)
	p.result(p.bytes("tokens", 8*int64(sequences*tokens)))
}

// teach records the decoder in training: the decoder reads the whole text at once and predicts each
// token from the true tokens before it.
func (w whisperDims) teach(p *pass, in Input, audio ref) {
	tokens := in.Batch * min(in.Tokens, whisperText)
	n := tokens * w.state
	b := block{
		tokens: tokens, state: w.state, heads: w.heads, length: tokens / in.Batch,
		inner: 4 * w.state,
	}
	var x ref
	for i := range w.textLayers {
		p.layer()
		if i == 0 {
			x = p.op("decoder.embeddings", n)
			p.tied = tie{x, "model.decoder.embed_tokens.weight"} // proj_out
		}
		y := p.op("residual", n, x, p.projected(b, p.layerNorm(n, x)))
		q := p.op("encoder_attn.q_proj", n, p.layerNorm(n, y))
		p.weight(w.state * w.state)
		k := p.op("encoder_attn.k_proj", in.Batch*whisperPositions*w.state, audio)
		p.weight(w.state * w.state)
		v := p.op("encoder_attn.v_proj", in.Batch*whisperPositions*w.state, audio)
		p.weight(w.state * w.state)
		a := p.attention(n, block{tokens: tokens, heads: w.heads, length: whisperPositions}, q, k,
			v)
		a = p.op("encoder_attn.out_proj", n, a)
		p.weight(w.state * w.state)
		p.unsaved(a)
		z := p.op("residual", n, y, a)
		o := p.op("residual", n, z, p.feedForward(b, p.layerNorm(n, z)))
		p.joined(y, x)
		p.joined(z, y)
		p.joined(o, z)
		x = o
	}
	x = p.layerNorm(n, x)
	p.head()
	x = p.op("decoder.logits", tokens*w.vocab, x)
	p.weight(w.state * w.vocab)
	if p.d != Float32 {
		x = p.float("decoder.logits.float()", tokens*w.vocab, x)
	}
	p.float("cross_entropy.log_softmax", tokens*w.vocab, x)
	p.result(x)
}
