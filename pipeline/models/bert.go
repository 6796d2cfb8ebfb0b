package models

// bertDims are the dimensions in BERT's config.json.
type bertDims struct {
	name, id string
	// hidden_size, num_hidden_layers, num_attention_heads, intermediate_size.
	state, layers, heads, inner int
}

// bert returns BAAI's English bge embedding models: BertModel with BERT's own vocabulary.
func bert() []*Model {
	return []*Model{
		bertDims{"bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", 384, 12, 12, 1536}.model(),
		bertDims{"bge-base-en-v1.5", "BAAI/bge-base-en-v1.5", 768, 12, 12, 3072}.model(),
		bertDims{"bge-large-en-v1.5", "BAAI/bge-large-en-v1.5", 1024, 24, 16, 4096}.model(),
	}
}

func (b bertDims) model() *Model {
	const vocab, positions, types = 30522, 512, 2
	m := &Model{
		Name: b.name, ID: b.id, Family: "bge", Source: "huggingface.co/" + b.id + ", config.json",
		multiplies: true, usual: Input{Batch: 32, Tokens: positions},
	}
	s := module{m: m}
	s.in("embeddings.word_embeddings").parameter("weight", vocab, b.state)
	s.in("embeddings.position_embeddings").parameter("weight", positions, b.state)
	s.in("embeddings.token_type_embeddings").parameter("weight", types, b.state)
	s.norm("embeddings.LayerNorm", b.state)
	for i := range b.layers {
		layer := s.layer("encoder.layer", i)
		for _, name := range []string{
			"attention.self.query", "attention.self.key",
			"attention.self.value", "attention.output.dense",
		} {
			layer.linear(name, b.state, b.state, true)
		}
		layer.norm("attention.output.LayerNorm", b.state)
		layer.linear("intermediate.dense", b.state, b.inner, true)
		layer.linear("output.dense", b.inner, b.state, true)
		layer.norm("output.LayerNorm", b.state)
	}
	s.head().linear("pooler.dense", b.state, b.state, true)
	for _, name := range []string{"position_ids", "token_type_ids"} {
		m.Buffers = append(m.Buffers, Tensor{
			Name: "embeddings." + name, Shape: []int{1, positions},
			Element: 8,
		})
	}
	m.forward = func(p *pass, in Input) {
		in.Tokens = min(in.Tokens, positions)
		tokens := in.Batch * in.Tokens
		n := tokens * b.state
		ids := p.bytes("input_ids", 3*8*int64(tokens)) // input_ids, attention_mask, token_type_ids
		x := p.op("inputs_embeds", n, ids)
		y := p.op("token_type_embeddings", n, ids)
		x = p.op("embeddings", n, x, y)
		embeddings := p.op("embeddings.LayerNorm", n, x)
		x = embeddings
		for range p.layers(b.layers) {
			p.layer()
			x = p.postNorm(x, block{
				tokens: tokens, state: b.state, heads: b.heads,
				length: in.Tokens, inner: b.inner,
			})
		}
		p.hold(ids, embeddings)
		p.head()
		p.result(x, p.op("pooler", in.Batch*b.state, x))
	}
	return m
}
