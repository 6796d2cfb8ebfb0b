package models

// A block has the dimensions of a transformer layer.
type block struct {
	tokens int // of all sequences together
	length int // of one sequence
	state  int // width of the residual stream
	heads  int
	inner  int // width of the feed-forward layer
}

// scores returns the number of elements of the attention matrix: one for each token, head and token
// of the same sequence.
func (b block) scores() int { return b.tokens * b.heads * b.length }

// transformer records one transformer layer that normalizes first, and returns its result. A tensor
// that a Python variable names lives as long as the variable. The layer's input lives until the end
// of the layer; the normalized input, q, k and v live until the end of the attention.
func (p *pass) transformer(x ref, b block) ref {
	n := b.tokens * b.state
	normed := p.layerNorm(n, x)
	y := p.op("residual", n, x, p.projected(b, normed))
	h := p.layerNorm(n, y)
	z := p.op("residual", n, y, p.feedForward(b, h))
	p.hold(x, h)
	p.joined(y, x)
	p.joined(z, y)
	return z
}

// postNorm records a transformer layer of BERT or of wav2vec 2.0 base, which normalize after each
// sum, and returns its result.
func (p *pass) postNorm(x ref, b block) ref {
	n := b.tokens * b.state
	s := p.op("residual", n, x, p.projected(b, x))
	y := p.layerNorm(n, s)
	t := p.op("residual", n, y, p.feedForward(b, y))
	z := p.layerNorm(n, t)
	p.hold(x, y)
	p.joined(s, x)
	p.joined(t, y)
	return z
}

// projected records self-attention with its four projections (q, k, v and output), and returns its
// result.
func (p *pass) projected(b block, x ref) ref {
	n := b.tokens * b.state
	q := p.op("q_proj", n, x)
	p.weight(b.state * b.state)
	k := p.op("k_proj", n, x)
	p.weight(b.state * b.state)
	v := p.op("v_proj", n, x)
	p.weight(b.state * b.state)
	a := p.attention(n, b, q, k, v)
	a = p.op("out_proj", n, a)
	p.unsaved(a)
	p.weight(b.state * b.state)
	p.hold(q, k, v, x)
	return a
}

// attention records the attention of queries q to keys k and values v, and returns its result of n
// elements.
func (p *pass) attention(n int, b block, q, k, v ref) ref {
	if !p.eager {
		return p.op("scaled_dot_product_attention", n, q, k, v)
	}
	s := p.op("attention scores", b.scores(), q, k)
	if p.d == Float32 {
		s = p.op("attention softmax", b.scores(), s)
		return p.op("attention", n, s, v)
	}
	f := p.float("attention scores.float()", b.scores(), s)
	w := p.float("attention softmax", b.scores(), f)
	w = p.op("attention softmax.to(dtype)", b.scores(), w)
	p.hold(f)
	return p.op("attention", n, w, v, f)
}

func (p *pass) feedForward(b block, x ref) ref {
	h := p.op("fc1", b.tokens*b.inner, x)
	p.weight(b.state * b.inner)
	h = p.op("gelu", b.tokens*b.inner, h)
	h = p.op("fc2", b.tokens*b.state, h)
	p.unsaved(h)
	p.weight(b.state * b.inner)
	return h
}

// layerNorm records nn.LayerNorm over n elements. Under autocast it computes in float32 and
// converts the result back.
func (p *pass) layerNorm(n int, x ref) ref {
	if p.d != Autocast {
		return p.op("layer_norm", n, x)
	}
	f := p.float("layer_norm.float()", n, x)
	f = p.float("layer_norm", n, f)
	return p.op("layer_norm.to(dtype)", n, f)
}
