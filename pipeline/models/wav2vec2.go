package models

import "fmt"

// wav2vec2Dims are the dimensions of a wav2vec 2.0 model that aligns words with audio (whisperX's
// alignment models).
type wav2vec2Dims struct {
	name, id, source            string
	state, heads, layers, inner int
	labels                      int
	// stable is true for models with feat_extract_norm "layer", convolutions with biases, and
	// do_stable_layer_norm: their layers normalize first.
	stable bool
	masked bool // the model has transformers' masked_spec_embed
}

// wav2vec2Convs has the kernel and the stride of each of the feature encoder's seven layers of 512
// channels (Baevski et al., arXiv:2006.11477, section 4.2).
var wav2vec2Convs = [][2]int{{10, 5}, {3, 2}, {3, 2}, {3, 2}, {3, 2}, {2, 2}, {2, 2}}

func wav2vec2() []*Model {
	const torchaudio = "torchaudio.pipelines.WAV2VEC2_ASR_BASE_960H"
	var models []*Model
	for _, w := range []wav2vec2Dims{
		{
			"wav2vec2-base-960h", "facebook/wav2vec2-base-960h", "config.json", 768, 12,
			12, 3072, 32,
			false, true,
		},
		{"wav2vec2_asr_base_960h", "", torchaudio, 768, 12, 12, 3072, 29, false, false},
		{
			"wav2vec2-large-960h", "facebook/wav2vec2-large-960h", "config.json", 1024,
			16, 24, 4096,
			32, false, true,
		},
		{
			"wav2vec2-large-xlsr-53", "facebook/wav2vec2-large-xlsr-53",
			"config.json; with jonatasgrosman's heads", 1024, 16, 24, 4096, 33, true, true,
		},
	} {
		models = append(models, w.model())
	}
	return models
}

func (w wav2vec2Dims) model() *Model {
	const channels = 512
	m := &Model{
		Name: w.name, ID: w.id, Family: "wav2vec2", Source: "arXiv:2006.11477; " + w.source,
		multiplies: true, usual: Input{Batch: 1, Seconds: 30},
	}
	s := module{m: m, prefix: "wav2vec2."}
	if w.masked {
		s.parameter("masked_spec_embed", w.state)
	}
	in := 1
	for i, c := range wav2vec2Convs {
		layer := s.in(fmt.Sprintf("feature_extractor.conv_layers.%d", i))
		layer.conv("conv", w.stable, channels, in, c[0])
		if w.stable || i == 0 {
			layer.norm("layer_norm", channels)
		}
		in = channels
	}
	s.norm("feature_projection.layer_norm", channels)
	s.linear("feature_projection.projection", channels, w.state, true)
	conv := s.in("encoder.pos_conv_embed.conv")
	conv.parameter("bias", w.state)
	// The convolution has weight norm over the last dimension.
	conv.parameter("parametrizations.weight.original0", 1, 1, 128)
	conv.parameter("parametrizations.weight.original1", w.state, w.state/16, 128)
	s.norm("encoder.layer_norm", w.state)
	for i := range w.layers {
		layer := s.layer("encoder.layers", i)
		for _, name := range []string{"k_proj", "v_proj", "q_proj", "out_proj"} {
			layer.linear("attention."+name, w.state, w.state, true)
		}
		layer.norm("layer_norm", w.state)
		layer.linear("feed_forward.intermediate_dense", w.state, w.inner, true)
		layer.linear("feed_forward.output_dense", w.inner, w.state, true)
		layer.norm("final_layer_norm", w.state)
	}
	module{m: m, part: w.layers + 1}.linear("lm_head", w.state, w.labels, true)
	m.forward = w.forward
	return m
}

func (w wav2vec2Dims) forward(p *pass, in Input) {
	const channels = 512
	wave := p.op("input_values", in.Batch*in.samples())
	x, n := wave, in.samples()
	for i, c := range wav2vec2Convs {
		n = convolved(n, c[0], c[1])
		y := p.op("feature_extractor.conv", in.Batch*channels*n, x)
		if w.stable || i == 0 {
			y = p.op("feature_extractor.norm", in.Batch*channels*n, y)
		}
		y = p.op("feature_extractor.gelu", in.Batch*channels*n, y)
		p.hold(x)
		x = y
	}
	tokens := in.Batch * n
	features := x
	x = p.op("feature_projection.layer_norm", tokens*channels, x)
	x = p.op("feature_projection.projection", tokens*w.state, x)
	pos := p.op("pos_conv_embed.conv", tokens*w.state, x)
	// Weight norm computes the weight anew in each pass.
	p.with("pos_conv_embed.weight", p.d.Bytes(w.state*w.state/16*128))
	pos = p.op("pos_conv_embed.gelu", tokens*w.state, pos)
	x = p.op("encoder.sum", tokens*w.state, x, pos)
	x = p.op("encoder.layer_norm", tokens*w.state, x)
	for range p.layers(w.layers) {
		p.layer()
		b := block{tokens: tokens, state: w.state, heads: w.heads, length: n, inner: w.inner}
		if w.stable {
			x = p.transformer(x, b)
		} else {
			x = p.postNorm(x, b)
		}
	}
	p.hold(features, wave)
	p.head()
	x = p.op("lm_head", tokens*w.labels, x)
	p.result(p.op("log_softmax", tokens*w.labels, x))
}
