package models

import "fmt"

// qwen2Dims are the dimensions in Qwen2's config.json.
type qwen2Dims struct {
	name, id            string
	vocab, state, inner int // vocab_size, hidden_size, intermediate_size
	// num_hidden_layers, num_attention_heads, num_key_value_heads, and the usual number of tokens.
	layers, heads, groups, length int
}

// qwen2 returns Qwen2 models as text embedders: AutoModel loads them without lm_head.
func qwen2() []*Model {
	return []*Model{
		qwen2Dims{
			"gte-Qwen2-1.5B-instruct", "Alibaba-NLP/gte-Qwen2-1.5B-instruct", 151646, 1536,
			8960, 28, 12, 2, 512,
		}.model(),
	}
}

func (q qwen2Dims) model() *Model {
	m := &Model{
		Name: q.name, ID: q.id, Family: "gte-Qwen2",
		Source:     "arXiv:2407.10671, table 1; huggingface.co/" + q.id + ", config.json",
		multiplies: true, usual: Input{Batch: 1, Tokens: q.length},
	}
	kv := q.state / q.heads * q.groups
	s := module{m: m}
	s.in("embed_tokens").parameter("weight", q.vocab, q.state)
	for i := range q.layers {
		layer := s.in(fmt.Sprintf("layers.%d", i))
		layer.linear("self_attn.q_proj", q.state, q.state, true)
		layer.linear("self_attn.k_proj", q.state, kv, true)
		layer.linear("self_attn.v_proj", q.state, kv, true)
		layer.linear("self_attn.o_proj", q.state, q.state, false)
		layer.linear("mlp.gate_proj", q.state, q.inner, false)
		layer.linear("mlp.up_proj", q.state, q.inner, false)
		layer.linear("mlp.down_proj", q.inner, q.state, false)
		layer.in("input_layernorm").parameter("weight", q.state)
		layer.in("post_attention_layernorm").parameter("weight", q.state)
	}
	s.in("norm").parameter("weight", q.state)
	s.in("rotary_emb").buffer("inv_freq", q.state/q.heads/2)
	m.forward = func(p *pass, in Input) { q.prefill(p, in, kv) }
	return m
}

// prefill records one pass over whole texts, up to the embedding of each text's last token. It
// includes the keys and values that use_cache keeps.
func (q qwen2Dims) prefill(p *pass, in Input, kv int) {
	tokens := in.Batch * in.Tokens
	n := tokens * q.state
	ids := p.bytes("input_ids", 8*int64(tokens))
	embeddings := p.op("embed_tokens", n, ids)
	x := embeddings
	cos := p.op("rotary_emb.cos", tokens*q.state/q.heads)
	sin := p.op("rotary_emb.sin", tokens*q.state/q.heads)
	cache := make([]ref, 0, 2*q.layers)
	written := p.layers(q.layers)
	for range q.layers - written { // these layers add only their keys and values
		cache = append(cache, p.op("k_embed", tokens*kv), p.op("v_proj", tokens*kv))
	}
	for range written {
		// Qwen2RMSNorm computes in float32: it makes x.to(float32), its square for the variance, the
		// product, and the result in the pass's format.
		normed := p.rmsNorm(n, x)
		qs := p.op("q_proj", n, normed)
		ks := p.op("k_proj", tokens*kv, normed)
		vs := p.op("v_proj", tokens*kv, normed)
		rotated := p.op("q_embed", n, qs)
		k := p.op("k_embed", tokens*kv, ks)
		cache = append(cache, k, vs)
		// repeat_kv makes a copy of each key and value for every query head of its group.
		kk := p.op("repeat_kv", n, k)
		vv := p.op("repeat_kv", n, vs)
		a := p.attention(n, block{tokens: tokens, heads: q.heads, length: in.Tokens},
			rotated, kk, vv)
		a = p.op("o_proj", n, a)
		p.hold(normed, rotated, kk, vv)
		y := p.op("residual", n, x, a)
		h := p.rmsNorm(n, y)
		g := p.op("gate_proj", tokens*q.inner, h)
		g = p.op("act_fn", tokens*q.inner, g)
		u := p.op("up_proj", tokens*q.inner, h)
		m := p.op("act_fn * up_proj", tokens*q.inner, g, u)
		d := p.op("down_proj", n, m)
		p.hold(h)
		y = p.op("residual", n, y, d)
		p.hold(x)
		x = y
	}
	x = p.rmsNorm(n, x)
	p.hold(cache...)
	p.hold(ids, embeddings, cos, sin) // variables of Qwen2Model.forward
	p.result(p.op("last_token_pool", in.Batch*q.state, x))
}

func (p *pass) rmsNorm(n int, x ref) ref {
	if p.d == Float32 {
		s := p.op("rms_norm.pow", n, x)
		f := p.op("rms_norm", n, x, s)
		return p.op("rms_norm.weight", n, f)
	}
	f := p.float("rms_norm.to(float32)", n, x)
	p.float("rms_norm.pow", n, f)
	g := p.float("rms_norm", n, f)
	y := p.op("rms_norm.to(dtype)", n, g)
	return p.op("rms_norm.weight", n, y)
}
