package models

// vitDims are the arguments of torchvision's vit_b_16 and vit_l_16. The models read images of 224 x
// 224, here spectrograms drawn as images.
type vitDims struct {
	name, id                    string
	state, layers, heads, inner int
}

func vit() []*Model {
	return []*Model{
		vitDims{"vit-b-16", "google/vit-base-patch16-224", 768, 12, 12, 3072}.model(),
		vitDims{"vit-l-16", "google/vit-large-patch16-224", 1024, 24, 16, 4096}.model(),
	}
}

const (
	vitImage, vitPatch = 224, 16
	vitTokens          = (vitImage/vitPatch)*(vitImage/vitPatch) + 1 // and the class token
	vitClasses         = 1000
)

func (v vitDims) model() *Model {
	m := &Model{
		Name: v.name, ID: v.id, Family: "vit",
		Source:     "arXiv:2010.11929, table 1; torchvision/models/vision_transformer.py",
		multiplies: true, usual: Input{Batch: 32},
	}
	s := module{m: m}
	s.parameter("class_token", 1, 1, v.state)
	s.conv("conv_proj", true, v.state, 3, vitPatch, vitPatch)
	s.parameter("encoder.pos_embedding", 1, vitTokens, v.state)
	for i := range v.layers {
		layer := s.layer("encoder.layers", i)
		layer.norm("ln_1", v.state)
		layer.parameter("self_attention.in_proj_weight", 3*v.state, v.state)
		layer.parameter("self_attention.in_proj_bias", 3*v.state)
		layer.linear("self_attention.out_proj", v.state, v.state, true)
		layer.norm("ln_2", v.state)
		layer.linear("mlp.0", v.state, v.inner, true)
		layer.linear("mlp.3", v.inner, v.state, true)
	}
	s.last().norm("encoder.ln", v.state)
	s.head().linear("heads.head", v.state, vitClasses, true)
	m.forward = func(p *pass, in Input) {
		tokens := in.Batch * vitTokens
		n := tokens * v.state
		pixels := in.Batch * 3 * vitImage * vitImage
		images := p.full("images", pixels)
		x := p.op("conv_proj", in.Batch*(vitTokens-1)*v.state, p.half(pixels, images))
		p.weight(v.state * 3 * vitPatch * vitPatch)
		cat := p.full("class_token.cat", n, x)
		input := p.full("encoder.pos_embedding", n, cat)
		x = input
		for range p.layers(v.layers) {
			p.layer()
			x = p.vitLayer(x, block{
				tokens: tokens, state: v.state, heads: v.heads,
				length: vitTokens, inner: v.inner,
			})
		}
		x = p.full("encoder.ln", n, x)
		p.hold(images, cat, input) // variables of VisionTransformer.forward and Encoder.forward
		p.unsaved(cat)
		p.head()
		p.result(p.op("heads.head", in.Batch*vitClasses, x))
	}
	return m
}

// vitLayer records torchvision's EncoderBlock with nn.MultiheadAttention, and returns its result.
// The layer computes q, k and v as one tensor and then copies them apart. Under torch.autocast the
// residual stream and the norms are float32.
func (p *pass) vitLayer(x ref, b block) ref {
	n := b.tokens * b.state
	normed := p.full("ln_1", n, x)
	c := p.full("self_attention.transpose", n, normed)
	packed := p.op("in_proj", 3*n, p.half(n, c))
	p.weight(3 * b.state * b.state)
	biased := p.op("in_proj.bias", 3*n, packed)
	qkv := p.op("qkv.contiguous", 3*n, biased)
	a := p.attention(n, b, qkv, qkv, qkv)
	a = p.op("attention.transpose", n, a)
	o := p.op("out_proj", n, a)
	p.weight(b.state * b.state)
	p.hold(normed, c, qkv)
	y := p.full("residual", n, x, o)
	h := p.full("ln_2", n, y)
	z := p.full("residual", n, y, p.feedForward(b, p.half(n, h)))
	p.hold(x, h)
	p.unsaved(normed, packed, biased, o)
	if p.d == Autocast {
		p.unsaved(c, h) // their float16 copies are saved instead
	}
	p.joined(y, x)
	p.joined(z, y)
	return z
}
