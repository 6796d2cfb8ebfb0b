package models

import "fmt"

// ecapaDims are what speechbrain's recipes set; the rest is theirs in common.
type ecapaDims struct {
	name, id, recipe       string
	mels, dimension        int
	blocks, hidden, labels int // of the classifier: blocks 0, hidden dimension: cosine scores against labels
}

// ecapa are SpeechBrain's ECAPA-TDNN models: speakers of VoxCeleb, languages of VoxLingua107.
func ecapa() []*Model {
	return []*Model{
		ecapaDims{"spkrec-ecapa-voxceleb", "speechbrain/spkrec-ecapa-voxceleb", "recipes/VoxCeleb/SpeakerRec/hparams/train_ecapa_tdnn.yaml", 80, 192, 0, 192, 7205}.model(),
		ecapaDims{"lang-id-voxlingua107-ecapa", "speechbrain/lang-id-voxlingua107-ecapa", "recipes/VoxLingua107/lang_id/hparams/train_ecapa.yaml", 60, 256, 1, 512, 107}.model(),
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
		Name: e.name, ID: e.id, Family: "ecapa", Source: "speechbrain, " + e.recipe + "; lobes/models/ECAPA_TDNN.py",
		usual: Input{Batch: 1, Seconds: 10},
	}
	const c, part, wide = ecapaWidth, ecapaWidth / ecapaScale, 3 * ecapaWidth
	s := module{m, "embedding_model."}
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
	e.classifier(module{m, "classifier."})
	m.forward = e.forward
	return m
}

// classifier has the tensors of ECAPA_TDNN.Classifier, or with blocks those of Xvector.Classifier.
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
	wave := p.float("wavs", in.Batch*in.samples())
	frames := in.samples()/160 + 1 // STFT of 25 ms each 10 ms, centered
	n := in.Batch * frames
	x := p.float("stft.pad", in.Batch*(in.samples()+400), wave)
	x = p.float("stft", n*2*201, x)
	x = p.float("fbank.magnitude", n*201, x)
	x = p.float("fbank.matmul", n*e.mels, x)
	feats := p.op("mean_var_norm", n*e.mels, x)
	tdnn := func(name string, out int, x ref) ref {
		y := p.op(name, n*out, x)
		y = p.op(name, n*out, y)
		y = p.op(name, n*out, y)
		p.hold(x)
		return y
	}
	x = tdnn("blocks.0", c, feats)
	outs := make([]ref, 0, 3)
	for range 3 {
		residual := x
		y := tdnn("blocks.tdnn1", c, x)
		parts := make([]ref, 0, ecapaScale)
		for j := range ecapaScale - 1 {
			z := y
			if j > 0 {
				z = p.op("res2net_block.sum", n*part, y, parts[j-1])
			}
			parts = append(parts, tdnn("res2net_block.blocks", part, z))
		}
		p.hold(y)
		z := p.op("res2net_block.cat", n*c, parts...)
		z = tdnn("blocks.tdnn2", c, z)
		z = p.op("se_block", n*c, z)
		x = p.op("blocks.residual", n*c, z, residual)
		outs = append(outs, x)
	}
	x = p.op("blocks.cat", n*wide, outs...)
	x = tdnn("mfa", wide, x)
	p.hold(outs...)
	a := p.op("asp.mean", n*wide, x)
	b := p.op("asp.std", n*wide, x)
	cat := p.op("asp.cat", n*3*wide, x, a, b)
	p.hold(a, b)
	y := tdnn("asp.tdnn", ecapaAttention, cat)
	y = p.op("asp.tanh", n*ecapaAttention, y)
	y = p.op("asp.conv", n*wide, y)
	y = p.op("asp.masked_fill", n*wide, y)
	y = p.op("asp.softmax", n*wide, y)
	z := p.op("asp.weighted", n*wide, x, y)
	z = p.op("asp.deviation", n*wide, x, z)
	z = p.op("asp.weighted square", n*wide, z, y)
	p.hold(a, b, x, feats, wave)
	x = p.op("asp", in.Batch*2*wide, z)
	x = p.op("fc", in.Batch*e.dimension, x)
	p.result(x)
}
