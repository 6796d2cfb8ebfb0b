package models

import "fmt"

// xvector returns pyannote/embedding, that is XVectorSincNet: five TDNN layers over SincNet's
// features.
func xvector() *Model {
	m := &Model{
		Name: "pyannote-embedding", ID: "pyannote/embedding", Family: "speaker-embedding",
		Source:     "pyannote.audio, models/embedding/xvector.py: XVectorSincNet, dimension 512",
		multiplies: true, usual: Input{Batch: 32, Seconds: 5},
	}
	layers := []struct{ channels, kernel, dilation int }{
		{512, 5, 1},
		{512, 3, 2},
		{512, 3, 3},
		{512, 1, 1},
		{1500, 1, 1},
	}
	s := module{m: m}
	sincnet(s.in("sincnet"))
	in := 60
	for i, l := range layers {
		s.conv(fmt.Sprintf("tdnns.%d", 3*i), true, l.channels, in, l.kernel)
		s.batchNorm(fmt.Sprintf("tdnns.%d", 3*i+2), l.channels)
		in = l.channels
	}
	s.linear("embedding", 2*in, 512, true)
	m.forward = func(p *pass, in Input) {
		x, frames := p.sincnet(in)
		for _, l := range layers {
			frames = convolved(frames, 1+(l.kernel-1)*l.dilation, 1)
			n := in.Batch * l.channels * frames
			y := p.op("tdnns.conv", n, x)
			z := p.op("tdnns.leaky_relu", n, y)
			p.hold(x)
			x = p.op("tdnns.batch_norm", n, z)
		}
		p.pool(in.Batch, 1500, frames, x)
		p.result(p.op("embedding", in.Batch*512))
	}
	return m
}

// pool records pyannote.audio's StatsPool with weights: the weighted mean and deviation over
// frames.
func (p *pass) pool(batch, channels, frames int, x ref) ref {
	weighted := p.op("stats_pool.weighted", batch*channels*frames, x)
	mean := p.op("stats_pool.mean", batch*channels, weighted)
	d := p.op("stats_pool.deviation", batch*channels*frames, x, mean)
	d2 := p.op("stats_pool.square", batch*channels*frames, d)
	w := p.op("stats_pool.weighted square", batch*channels*frames, d2)
	std := p.op("stats_pool.std", batch*channels, w)
	p.hold(d2, mean, x)
	return p.op("stats_pool", 2*batch*channels, mean, std)
}
