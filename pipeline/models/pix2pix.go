package models

import (
	"fmt"
	"slices"
)

// pix2pix returns the two models of the spectrogram GAN, over spectrograms drawn as images of 256 x
// 256: pix2pix's U-Net generator and its 70 x 70 PatchGAN discriminator. They follow the authors'
// pytorch-CycleGAN-and-pix2pix (models/networks.py: unet_256, ngf=64; basic, ndf=64; batch norm).
func pix2pix() []*Model {
	const source = "arXiv:1611.07004, section 6.1; pytorch-CycleGAN-and-pix2pix, models/networks.py"
	g := &Model{
		Name: "pix2pix-generator", Family: "pix2pix-generator", Source: source,
		usual: Input{Batch: 1}, forward: unet,
	}
	s := module{m: g}
	for i, out := range unetWidths {
		in := 3
		if i > 0 {
			in = unetWidths[i-1]
		}
		s.conv(fmt.Sprintf("down.%d.conv", i), false, out, in, 4, 4)
		if i > 0 && i < len(unetWidths)-1 {
			s.batchNorm(fmt.Sprintf("down.%d.norm", i), out)
		}
	}
	for i, in := range slices.Backward(unetWidths) {
		out := 3
		if i < len(unetWidths)-1 {
			in *= 2 // the skip connection is concatenated
		}
		if i > 0 {
			out = unetWidths[i-1]
		}
		// This is nn.ConvTranspose2d: weight has the shape [in, out, kernel...].
		conv := s.in(fmt.Sprintf("up.%d.conv", i))
		conv.parameter("weight", in, out, 4, 4)
		if i > 0 {
			s.batchNorm(fmt.Sprintf("up.%d.norm", i), out)
		} else {
			conv.parameter("bias", out)
		}
	}
	d := &Model{
		Name: "pix2pix-discriminator", Family: "pix2pix-discriminator", Source: source,
		usual: Input{Batch: 1}, forward: patchGAN,
	}
	s = module{m: d}
	in := 6 // the condition and the image
	for i, out := range patchWidths {
		ends := i == 0 || i == len(patchWidths)-1
		s.conv(fmt.Sprintf("model.%d.conv", i), ends, out, in, 4, 4)
		if !ends {
			s.batchNorm(fmt.Sprintf("model.%d.norm", i), out)
		}
		in = out
	}
	return []*Model{g, d}
}

const ganImage = 256

var (
	// From the outermost layer to the innermost. Each layer has half the side length of the layer
	// before it.
	unetWidths  = []int{64, 128, 256, 512, 512, 512, 512, 512}
	patchWidths = []int{64, 128, 256, 512, 1}
)

func unet(p *pass, in Input) {
	data := p.op("real_A", in.Batch*3*ganImage*ganImage)
	x := data
	downs := make([]ref, 0, len(unetWidths))
	side := ganImage
	for i, c := range unetWidths {
		side /= 2
		n := in.Batch * c * side * side
		y := p.op("down.conv", n, x)
		if i > 0 && i < len(unetWidths)-1 {
			y = p.op("down.norm", n, y)
		}
		downs = append(downs, y)
		x = y
	}
	for i := range slices.Backward(unetWidths) {
		c := 3
		if i > 0 {
			c = unetWidths[i-1]
		}
		side *= 2
		n := in.Batch * c * side * side
		x = p.op("up.conv", n, x)
		if i > 0 {
			y := p.op("up.norm", n, x)
			p.unsaved(y)
			x = p.op("up.cat", 2*n, y, downs[i-1])
			p.joined(x, downs[i-1])
		}
	}
	p.hold(data)
	p.result(p.op("tanh", in.Batch*3*ganImage*ganImage, x))
}

func patchGAN(p *pass, in Input) {
	data := p.op("cat real_A real_B", in.Batch*6*ganImage*ganImage)
	x := data
	side := ganImage
	for i, c := range patchWidths {
		if i < 3 {
			side /= 2
		} else {
			side--
		}
		n := in.Batch * c * side * side
		x = p.op("model.conv", n, x)
		if i > 0 && i < len(patchWidths)-1 {
			x = p.op("model.norm", n, x)
		}
	}
	p.hold(data)
	p.result(x)
}
