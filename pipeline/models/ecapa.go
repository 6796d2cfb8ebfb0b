package models

import "fmt"

// ecapaDims are the dimensions that speechbrain's recipes set. The other dimensions are the same in
// all models.
type ecapaDims struct {
	name, id, family, recipe string
	mels, dimension          int
	// blocks is the number of hidden layers of the classifier. If it is 0, the classifier compares
	// the embedding with one vector for each label by the cosine.
	blocks, hidden, labels int
}

// ecapa returns SpeechBrain's ECAPA-TDNN models: for speakers (VoxCeleb) and for languages
// (VoxLingua107).
func ecapa() []*Model {
	return []*Model{
		ecapaDims{
			"spkrec-ecapa-voxceleb", "speechbrain/spkrec-ecapa-voxceleb", "speaker-embedding",
			"recipes/VoxCeleb/SpeakerRec/hparams/train_ecapa_tdnn.yaml", 80, 192, 0, 192,
			7205,
		}.model(),
		ecapaDims{
			"lang-id-voxlingua107-ecapa", "speechbrain/lang-id-voxlingua107-ecapa",
			"language-id", "recipes/VoxLingua107/lang_id/hparams/train_ecapa.yaml", 60, 256, 1,
			512, 107,
		}.model(),
	}
}

const (
	ecapaWidth     = 1024 // channels: [1024, 1024, 1024, 1024, 3072]
	ecapaScale     = 8    // res2net_scale
	ecapaSqueeze   = 128  // se_channels
	ecapaAttention = 128  // attention_channels
)

func (e ecapaDims) model() *Model {
	m := &Model{
		Name: e.name, ID: e.id, Family: e.family, Source: "speechbrain, " + e.recipe +
			"; lobes/models/ECAPA_TDNN.py",
		multiplies: true, usual: Input{Batch: 1, Seconds: 10},
	}
	const c, part, wide = ecapaWidth, ecapaWidth / ecapaScale, 3 * ecapaWidth
	s := module{m: m, prefix: "embedding_model."}
	tdnn := func(s module, name string, in, out, kernel int) {
		s = s.in(name)
		s.conv("conv.conv", true, out, in, kernel)
		s.batchNorm("norm.norm", out)
	}
	tdnn(s, "blocks.0", e.mels, c, 5)
	for i := 1; i <= 3; i++ {
		block := s.in(fmt.Sprintf("blocks.%d", i))
		tdnn(block, "tdnn1", c, c, 1)
		for j := range ecapaScale - 1 {
			tdnn(block, fmt.Sprintf("res2net_block.blocks.%d", j), part, part, 3)
		}
		tdnn(block, "tdnn2", c, c, 1)
		block.conv("se_block.conv1.conv", true, ecapaSqueeze, c, 1)
		block.conv("se_block.conv2.conv", true, c, ecapaSqueeze, 1)
	}
	tdnn(s, "mfa", wide, wide, 1)
	tdnn(s, "asp.tdnn", 3*wide, ecapaAttention, 1)
	s.conv("asp.conv.conv", true, wide, ecapaAttention, 1)
	s.batchNorm("asp_bn.norm", 2*wide)
	s.conv("fc.conv", true, e.dimension, 2*wide, 1)
	e.classifier(module{m: m, prefix: "classifier."})
	m.forward = e.forward
	return m
}

// classifier adds the weights of ECAPA_TDNN.Classifier or, if blocks is above 0, of
// Xvector.Classifier.
func (e ecapaDims) classifier(s module) {
	if e.blocks == 0 {
		s.parameter("weight", e.labels, e.dimension)
		return
	}
	s.batchNorm("norm.norm", e.dimension)
	s.linear("DNN.block_0.linear.w", e.dimension, e.hidden, true)
	s.batchNorm("DNN.block_0.norm.norm", e.hidden)
	s.linear("out.w", e.hidden, e.labels, true)
}

func (e ecapaDims) forward(p *pass, in Input) {
	const c, part, wide = ecapaWidth, ecapaWidth / ecapaScale, 3 * ecapaWidth
	feats, frames := e.features(p, in)
	n := in.Batch * frames
	xl := make([]ref, 0, 4) // ECAPA_TDNN.forward's own list
	x := p.tdnn(e.mels, c, in.Batch, frames, 2, feats)
	xl = append(xl, x)
	for i := range 3 {
		residual := x
		y := p.tdnn(c, c, in.Batch, frames, 0, x)
		parts := make([]ref, 0, ecapaScale)
		for j := range ecapaScale - 1 {
			z := y
			if j > 0 {
				z = p.op("res2net_block.sum", n*part, y, parts[j-1])
				p.unsaved(z)
			}
			parts = append(parts, p.tdnn(part, part, in.Batch, frames, i+2, z))
		}
		cat := p.op("res2net_block.cat", n*c, parts...)
		p.hold(y)
		z := p.tdnn(c, c, in.Batch, frames, 0, cat)
		z = p.op("se_block", n*c, z)
		p.unsaved(z)
		x = p.op("residual", n*c, z, residual)
		xl = append(xl, x)
	}
	cat := p.op("cat", n*wide, xl[1:]...)
	x = p.tdnn(wide, wide, in.Batch, frames, 0, cat)
	stats := p.attentivePool(in.Batch, frames, wide, x)
	p.hold(xl...)
	p.hold(feats)
	p.result(p.op("fc", in.Batch*e.dimension, stats))
}

// features records speechbrain's Fbank: centered spectra of 25 ms, one every 10 ms. The spectra are
// then normalized by the mean and the variance of the whole waveform.
func (e ecapaDims) features(p *pass, in Input) (feats ref, frames int) {
	frames = in.samples()/160 + 1
	n := in.Batch * frames
	wave := p.float("wavs", in.Batch*in.samples())
	x := p.float("stft.pad", in.Batch*(in.samples()+400), wave)
	x = p.float("stft", n*2*201, x) // complex64
	x = p.float("fbank.spectral_magnitude", n*201, x)
	x = p.float("fbank.matmul", n*e.mels, x)
	feats = p.op("mean_var_norm", n*e.mels, x)
	p.hold(wave)
	return feats, frames
}

// tdnn records TDNNBlock.forward: norm(activation(conv(x))). speechbrain's Conv1d pads by making a
// copy (padding "same", reflect), even if there is nothing to pad.
func (p *pass) tdnn(in, out, batch, frames, pad int, x ref) ref {
	padded := p.op("tdnn.conv.reflection_pad", batch*in*(frames+2*pad), x)
	c := p.op("tdnn.conv", batch*out*frames, padded)
	a := p.op("tdnn.activation", batch*out*frames, c)
	y := p.op("tdnn.norm", batch*out*frames, a)
	p.hold(x)
	p.unsaved(c)
	return y
}

// attentivePool records AttentiveStatisticsPooling.forward with global context.
func (p *pass) attentivePool(batch, frames, channels int, x ref) ref {
	n := batch * frames * channels
	statistics := func(weights ...ref) {
		m := p.op("asp.weighted", n, append(weights, x)...)
		mean := p.op("asp.mean", batch*channels, m)
		d := p.op("asp.deviation", n, x, mean)
		sq := p.op("asp.pow", n, d)
		w := p.op("asp.weighted pow", n, append(weights, sq)...)
		p.op("asp.std", batch*channels, w, mean)
		p.hold(sq)
	}
	statistics()
	mean := p.op("asp.mean.repeat", n)
	std := p.op("asp.std.repeat", n)
	attn := p.op("asp.cat", 3*n, x, mean, std)
	a := p.tdnn(3*channels, ecapaAttention, batch, frames, 0, attn)
	a = p.op("asp.tanh", batch*frames*ecapaAttention, a)
	a = p.op("asp.conv", n, a)
	p.hold(attn)
	a = p.op("asp.masked_fill", n, a)
	a = p.op("asp.softmax", n, a)
	p.hold(mean, std)
	statistics(a)
	p.hold(a)
	return p.op("asp.pooled_stats", 2*batch*channels, x)
}
