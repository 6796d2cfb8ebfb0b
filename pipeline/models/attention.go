package models

// A block is a layer of a transformer that normalizes first: Whisper, ViT. Qwen2 is one too.
type block struct {
	tokens int // of all sequences together
	length int // of one sequence
	state  int // width of the residual stream
	heads  int
	kv     int // width of keys and of values; 0: state
	inner  int // width of the feed-forward layer
}

// scores are the elements of the attention matrix: tokens x heads x length.
func (b block) scores() int { return b.tokens * b.heads * b.length }

// transformer is one such layer for inference, as transformers' modeling files run it: names are reassigned, so that a tensor ends
// when its name gets the next one.
func (p *pass) transformer(x ref, b block) ref {
	n := b.tokens * b.state
	kv := b.tokens * b.kv
	if b.kv == 0 {
		kv = n
	}
	normed := p.op("layer_norm", n, x)
	q := p.op("q_proj", n, normed)
	p.weight(b.state * b.state)
	k := p.op("k_proj", kv, normed)
	p.weight(b.state * kv / b.tokens)
	v := p.op("v_proj", kv, normed)
	p.weight(b.state * kv / b.tokens)
	var a ref
	if p.eager {
		s := p.op("attention scores", b.scores(), q, k)
		s = p.op("attention softmax", b.scores(), s)
		a = p.op("attention", n, s, v)
	} else {
		a = p.op("scaled_dot_product_attention", n, q, k, v)
	}
	a = p.op("out_proj", n, a)
	p.weight(b.state * b.state)
	p.hold(q, k, v, normed) // local variables of the attention's forward
	x = p.op("residual", n, x, a)
	h := p.op("layer_norm", n, x)
	h = p.op("fc1", b.tokens*b.inner, h)
	p.weight(b.state * b.inner)
	h = p.op("activation_fn", b.tokens*b.inner, h)
	h = p.op("fc2", n, h)
	p.weight(b.state * b.inner)
	return p.op("residual", n, x, h)
}
