package models

// vitModel returns google/vit-base-patch16-224-in21k with a classifier: transformers'
// ViTForImageClassification, which is ViTModel without its pooler and a linear layer. The sizes are
// those of the id's config.json: hidden_size, num_hidden_layers, num_attention_heads,
// intermediate_size. config.json names no labels, so the classifier has transformers' default, 2.
func vitModel() []*Model {
	const labels = 2
	v := vitDims{"vit-base-patch16-224-in21k", "google/vit-base-patch16-224-in21k", 768, 12, 12, 3072}
	m := &Model{
		Name: v.name, ID: v.id, Family: "vit-in21k",
		Source: "arXiv:2010.11929, table 1; huggingface.co/" + v.id + ", config.json; transformers, " +
			"modeling_vit.py",
		multiplies: true, usual: Input{Batch: 32},
	}
	s := module{m: m, prefix: "vit."}
	s.parameter("embeddings.cls_token", 1, 1, v.state)
	s.parameter("embeddings.position_embeddings", 1, vitTokens, v.state)
	s.conv("embeddings.patch_embeddings.projection", true, v.state, 3, vitPatch, vitPatch)
	for i := range v.layers {
		layer := s.layer("encoder.layer", i)
		for _, name := range []string{"query", "key", "value"} {
			layer.linear("attention.attention."+name, v.state, v.state, true)
		}
		layer.linear("attention.output.dense", v.state, v.state, true)
		layer.linear("intermediate.dense", v.state, v.inner, true)
		layer.linear("output.dense", v.inner, v.state, true)
		layer.norm("layernorm_before", v.state)
		layer.norm("layernorm_after", v.state)
	}
	s.last().norm("layernorm", v.state)
	module{m: m, part: v.layers + 1}.linear("classifier", v.state, labels, true)
	m.forward = func(p *pass, in Input) {
		tokens := in.Batch * vitTokens
		n := tokens * v.state
		pixels := in.Batch * 3 * vitImage * vitImage
		images := p.full("pixel_values", pixels)
		patches := p.op("projection", n-in.Batch*v.state, p.half(pixels, images))
		p.weight(v.state * 3 * vitPatch * vitPatch)
		cat := p.full("embeddings.cat", n, patches)
		x := p.full("embeddings", n, cat)
		p.hold(cat)
		p.unsaved(patches, cat)
		for range p.layers(v.layers) {
			p.layer()
			x = p.vitModelLayer(x, block{
				tokens: tokens, state: v.state, heads: v.heads, length: vitTokens, inner: v.inner,
			})
		}
		x = p.full("layernorm", n, x)
		p.hold(images) // a variable of the training loop
		p.head()
		p.result(p.linear("classifier", in.Batch, v.state, labels, x))
	}
	return []*Model{m}
}

// vitModelLayer records transformers' ViTLayer and returns its result. Under torch.autocast the
// residual stream and the norms are float32. Each linear layer then converts its input, so query,
// key and value each have their own float16 copy.
func (p *pass) vitModelLayer(x ref, b block) ref {
	n := b.tokens * b.state
	normed := p.full("layernorm_before", n, x)
	k := p.linear("key", b.tokens, b.state, b.state, normed)
	v := p.linear("value", b.tokens, b.state, b.state, normed)
	q := p.linear("query", b.tokens, b.state, b.state, normed)
	a := p.attention(n, b, q, k, v)
	p.hold(q, k, v)
	o := p.linear("attention.output", b.tokens, b.state, b.state, a)
	p.hold(normed, a)
	y := p.full("residual", n, x, o)
	h := p.full("layernorm_after", n, y)
	f := p.linear("intermediate", b.tokens, b.state, b.inner, h)
	g := p.op("intermediate_act_fn", b.tokens*b.inner, f)
	p.hold(h)
	r := p.linear("output", b.tokens, b.inner, b.state, g)
	z := p.full("residual", n, y, r)
	p.hold(g, o, x, y) // local variables of ViTLayer.forward and of the loop over the layers
	p.unsaved(o, r)
	if p.d == Autocast {
		p.unsaved(normed, h) // their float16 copies are saved instead
	}
	p.joined(y, x)
	p.joined(z, y)
	return z
}

// full records an operation whose result is float32 under torch.autocast, and otherwise in the
// pass's number format: a norm, a sum with a float32 operand.
func (p *pass) full(name string, n int, reads ...ref) ref {
	if p.d == Autocast {
		return p.float(name, n, reads...)
	}
	return p.op(name, n, reads...)
}

// half returns a float32 tensor x of n elements as torch.autocast hands it to a matrix product or a
// convolution: converted to float16. Without autocast, it returns x itself.
func (p *pass) half(n int, x ref) ref {
	if p.d != Autocast || p.list[x].Bytes != 4*int64(n) {
		return x
	}
	return p.op("to(float16)", n, x)
}

// linear records nn.Linear over a number of tokens.
func (p *pass) linear(name string, tokens, in, out int, x ref) ref {
	y := p.op(name, tokens*out, p.half(tokens*in, x))
	p.weight(in * out)
	return y
}
