package models

import "fmt"

// The dimensions of SpecGAN (Donahue, McAuley and Puckette, "Adversarial Audio Synthesis",
// arXiv:1802.04208, appendix D, tables 5 and 6): spectrograms of 128 x 128 and d = 64. A layer of
// the discriminator halves the side of its input; a layer of the generator doubles it.
const (
	specSide   = 128
	specNoise  = 100 // elements of the generator's input z
	specKernel = 5
	specDim    = 64
	specLayers = 5
)

// specWidth returns the channels of the discriminator after its layer i: 64, 128, ... 1024. Before
// the first layer there is one channel. The generator has the same channels in reverse order.
func specWidth(i int) int {
	if i < 0 {
		return 1
	}
	return specDim << i
}

// specElements returns the number of elements of an item after layer i of the discriminator, or of
// the spectrogram before the first layer.
func specElements(i int) int {
	side := specSide >> (i + 1)
	return specWidth(i) * side * side
}

// specFlat is the number of elements that the discriminator's last layer reads and the generator's
// first layer makes: 4 x 4 x 1024.
var specFlat = specElements(specLayers - 1)

// specGAN returns SpecGAN's generator and discriminator, as the authors' specgan.py builds them,
// without batch norm, as with the loss that they use: WGAN-GP.
func specGAN() []*Model {
	const source = "arXiv:1802.04208, appendix D; chrisdonahue/wavegan, specgan.py, train_specgan.py"
	g := &Model{
		Name: "specgan-generator", Family: "specgan-generator", Source: source, multiplies: true,
		usual: Input{Batch: 64}, forward: generate, step: generatorStep,
	}
	s := module{m: g}
	s.linear("z_project", specNoise, specFlat, true)
	for i := range specLayers {
		in, out := specWidth(specLayers-1-i), specWidth(specLayers-2-i)
		conv := s.in(fmt.Sprintf("upconv_%d", i))
		conv.parameter("weight", in, out, specKernel, specKernel) // nn.ConvTranspose2d
		conv.parameter("bias", out)
	}
	d := &Model{
		Name: "specgan-discriminator", Family: "specgan-discriminator", Source: source,
		multiplies: true, usual: Input{Batch: 64},
		forward: func(p *pass, in Input) {
			data := p.full("spectrograms", in.Batch*specElements(-1))
			c := p.discriminate(in.Batch, data)
			p.hold(data)
			p.result(c.out)
		},
		step: criticStep,
	}
	s = module{m: d}
	for i := range specLayers {
		s.conv(fmt.Sprintf("downconv_%d", i), true, specWidth(i), specWidth(i-1), specKernel, specKernel)
	}
	s.linear("output", specFlat, 1, true)
	return []*Model{g, d}
}

// generate records the generator without a graph: each tensor is freed once the next one is made.
func generate(p *pass, in Input) { p.result(p.generated(in.Batch, nil)) }

// generated records the generator and returns its spectrograms. It appends the tensors that
// autograd saves to saved, unless that is nil: the results of the ReLUs, which are the inputs of
// the convolutions, too.
func (p *pass) generated(batch int, saved *[]ref) ref {
	z := p.full("z", batch*specNoise)
	x := p.op("z_project", batch*specFlat, z)
	p.weight(specNoise * specFlat)
	x = p.op("z_project.relu", batch*specFlat, x)
	keep := []ref{z, x}
	for i := specLayers - 2; i >= -1; i-- {
		y := p.op("upconv", batch*specElements(i), x)
		p.weight(specConv(i + 1))
		name := "upconv.relu"
		if i < 0 {
			name = "tanh"
		}
		before := x
		x = p.op(name, batch*specElements(i), y)
		p.hold(before) // the variable that gets the new value
		keep = append(keep, x)
	}
	if saved != nil {
		*saved = keep
	}
	return x
}

// specConv returns the number of weights between layer i-1 and layer i of the discriminator, which
// is also the number between these layers of the generator.
func specConv(i int) int { return specWidth(i) * specWidth(i-1) * specKernel * specKernel }

// A critique holds the tensors that autograd saves of a pass of the discriminator: its input, the
// result of each convolution (for LeakyReLU's backward step) and of each LeakyReLU (for that of the
// next layer).
type critique struct {
	in          ref
	conv, leaky [specLayers]ref
	out         ref
}

// discriminate records the discriminator over spectrograms x.
func (p *pass) discriminate(batch int, x ref) critique {
	c := critique{in: x}
	for i := range specLayers {
		n := batch * specElements(i)
		c.conv[i] = p.op("downconv", n, x)
		p.weight(specConv(i))
		c.leaky[i] = p.op("downconv.leaky_relu", n, c.conv[i])
		x = c.leaky[i]
	}
	c.out = p.op("output", batch, x)
	p.weight(specFlat)
	if p.train {
		for i := range specLayers {
			p.list[c.conv[i]].Kind, p.list[c.leaky[i]].Kind = Saved, Saved
		}
	}
	return c
}

// input returns the tensor that convolution i reads.
func (c *critique) input(i int) ref {
	if i == 0 {
		return c.in
	}
	return c.leaky[i-1]
}

// gradients records the gradients of the weights of a layer. If they are the first of a step, they
// live until optimizer.zero_grad(); others are added to those.
func (p *pass) gradients(layer string, weights, biases int, first bool, reads ...ref) {
	p.step++
	p.hold(reads...)
	w := p.weightGradient(layer+".weight", p.d.WeightBytes(weights))
	b := p.weightGradient(layer+".bias", p.d.WeightBytes(biases))
	if first && !p.adds {
		p.result(w, b)
	}
}

// backpropagate records the backward pass of a critique, and returns the gradient of its input, or
// -1 if the input needs none, because it is data. If first is true, these are the first gradients
// of the discriminator's weights in this step.
func (p *pass) backpropagate(batch int, c critique, first, toInput bool) ref {
	p.hold(c.out)
	g := p.op("gradient of output", batch*specFlat)
	p.gradients("output", specFlat, 1, first, c.leaky[specLayers-1])
	for i := specLayers - 1; i >= 0; i-- {
		l := p.op("gradient of leaky_relu", batch*specElements(i), g, c.conv[i])
		g = -1
		if i > 0 || toInput {
			g = p.op("gradient of downconv", batch*specElements(i-1), l)
		}
		p.gradients("downconv", specConv(i), specWidth(i), first, l, c.input(i))
	}
	return g
}

// criticStep records a training step of the discriminator with the gradient penalty of WGAN-GP
// (Gulrajani et al., "Improved Training of Wasserstein GANs", arXiv:1704.00028, algorithm 1). The
// penalty is on the gradient of the discriminator at points between real and generated
// spectrograms. torch.autograd.grad(create_graph=True) computes this gradient in a graph of its
// own, through which loss.backward() then goes a second time.
func criticStep(p *pass, in Input) {
	n := in.Batch * specElements(-1)
	reals := p.full("spectrograms", n)
	fakes := p.generated(in.Batch, nil)
	mixed := p.full("alpha * difference", n, reals, fakes)
	mixed = p.full("interpolates", n, mixed)
	between := p.discriminate(in.Batch, mixed)
	slopes, slope := p.penalize(in.Batch, between)
	ofReals, ofFakes := p.discriminate(in.Batch, reals), p.discriminate(in.Batch, fakes)
	p.backpropagate(in.Batch, ofFakes, true, false)
	p.backpropagate(in.Batch, ofReals, false, false)
	p.penalty(in.Batch, between, slopes, slope)
	p.hold(reals, fakes, mixed) // variables of the training loop
	p.result(p.float("loss", 1))
}

// penalize records torch.autograd.grad of a critique with create_graph=True. It returns the
// gradients of the LeakyReLUs, which the graph saves, and the gradient of the input.
func (p *pass) penalize(batch int, c critique) (slopes [specLayers]ref, slope ref) {
	slope = p.op("slope of output", batch*specFlat)
	for i := specLayers - 1; i >= 0; i-- {
		slopes[i] = p.op("slope of leaky_relu", batch*specElements(i), slope, c.conv[i])
		slope = p.op("slope of downconv", batch*specElements(i-1), slopes[i])
	}
	return slopes, slope
}

// penalty records the backward pass through the gradient of a critique. It first goes from input
// to output: each convolution's backward step has itself a backward step, which needs copies of
// its two operands. It then goes through the critique itself: the second derivative of LeakyReLU is
// zero, but PyTorch computes with these zeros like with any other gradient.
func (p *pass) penalty(batch int, c critique, slopes [specLayers]ref, slope ref) {
	var zeros [specLayers]ref
	g := p.full("gradient of slope", batch*specElements(-1), slope)
	for i := range specLayers {
		n := batch * specElements(i)
		up := p.op("gradient of slope of downconv", n, g)
		if i > 0 {
			p.with("copy of the gradient", p.list[g].Bytes)
		}
		p.with("copy of the slope", p.list[slopes[i]].Bytes)
		p.weightGradient("downconv.weight", p.d.WeightBytes(specConv(i)))
		p.hold(g, slopes[i])
		g = p.op("gradient of slope of leaky_relu", n, up, c.conv[i])
		zeros[i] = p.op("zero gradient", n, up)
	}
	for i := specLayers - 1; i >= 0; i-- {
		if i > 0 {
			x := p.op("gradient of downconv", batch*specElements(i-1), zeros[i])
			p.gradients("downconv", specConv(i), specWidth(i), false, x, zeros[i], c.input(i))
			p.op("gradient of leaky_relu", batch*specElements(i-1), x, c.conv[i-1])
			continue
		}
		p.gradients("downconv", specConv(i), specWidth(i), false, zeros[i], c.input(i))
	}
	p.hold(g, c.out)
}

// generatorStep records a training step of the generator: its loss is the discriminator's score, so
// the backward pass goes through the discriminator first. The discriminator's weights get gradients
// there too, which are added to those of its own step.
func generatorStep(p *pass, in Input) {
	var saved []ref
	fakes := p.generated(in.Batch, &saved)
	c := p.discriminate(in.Batch, fakes)
	g := p.backpropagate(in.Batch, c, false, true)
	for i := -1; i < specLayers-1; i++ {
		n := in.Batch * specElements(i)
		x := saved[len(saved)-1-(i+1)] // tanh's or ReLU's result
		l := p.op("gradient of upconv.relu", n, g, x)
		g = p.op("gradient of upconv", in.Batch*specElements(i+1), l)
		p.gradients("upconv", specConv(i+1), specWidth(i), true, l, saved[len(saved)-2-(i+1)])
	}
	l := p.op("gradient of z_project.relu", in.Batch*specFlat, g, saved[1])
	p.gradients("z_project", specNoise*specFlat, specFlat, true, l, saved[0])
	p.result(p.float("loss", 1))
}
