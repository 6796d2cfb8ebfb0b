package models

import "fmt"

// resnetStages has the number of blocks in each stage of ResNet34. The first stage has 32 channels;
// each further stage has twice as many channels and half the length of the stage before it.
var resnetStages = []int{3, 4, 6, 3}

// wespeaker returns pyannote/wespeaker-voxceleb-resnet34-LM, the embedding model of pyannote's
// speaker-diarization-3.1: a ResNet34 over 80 mel bands.
func wespeaker() *Model {
	const bands, width, dimension = 80, 32, 256
	m := &Model{
		Name: "wespeaker-voxceleb-resnet34-LM", ID: "pyannote/wespeaker-voxceleb-resnet34-LM",
		Family: "speaker-embedding",
		Source: "pyannote.audio, models/embedding/wespeaker/resnet.py: ResNet34(80, 256, " +
			"two_emb_layer=False)",
		// The batch is embedding_batch_size: 32 in the config.yaml of speaker-diarization-3.1.
		multiplies: true, usual: Input{Batch: 32, Seconds: 10},
	}
	s := module{m: m, prefix: "resnet."}
	s.conv("conv1", false, width, 1, 3, 3)
	s.batchNorm("bn1", width)
	in, out := width, width
	for i, blocks := range resnetStages {
		for b := range blocks {
			block := s.in(fmt.Sprintf("layer%d.%d", i+1, b))
			block.conv("conv1", false, out, in, 3, 3)
			block.batchNorm("bn1", out)
			block.conv("conv2", false, out, out, 3, 3)
			block.batchNorm("bn2", out)
			if in != out {
				block.conv("shortcut.0", false, out, in, 1, 1)
				block.batchNorm("shortcut.1", out)
			}
			in = out
		}
		out *= 2
	}
	s.linear("seg_1", 2*in*bands/8, dimension, true)
	m.forward = func(p *pass, in Input) {
		wave := p.float("waveforms", in.Batch*in.samples())
		fbank, frames := p.kaldiFbank(in, bands, wave)
		height, channels := bands, width
		x := p.convBlock(in.Batch*channels*height*frames, fbank)
		for i, blocks := range resnetStages {
			layer := x // a variable of ResNet.forward holds it until the layer's end
			for b := range blocks {
				shortcut := i > 0 && b == 0
				if shortcut {
					height, frames, channels = (height+1)/2, (frames+1)/2, 2*channels
				}
				x = p.basicBlock(in.Batch*channels*height*frames, shortcut, x)
				p.hold(layer)
			}
		}
		stats := p.pool(in.Batch, channels*height, frames, x)
		p.hold(wave, fbank)
		p.result(p.op("resnet.seg_1", in.Batch*dimension, stats))
	}
	return m
}

// convBlock records F.relu(bn(conv(x))) with results of n elements. The caller still holds x.
func (p *pass) convBlock(n int, x ref) ref {
	c := p.op("resnet.conv1", n, x)
	b := p.op("resnet.bn", n, c)
	r := p.op("resnet.relu", n, b)
	p.hold(x)
	p.unsaved(b)
	return r
}

// basicBlock records BasicBlock.forward: out = relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x)).
// The sum is in place, so it makes no tensor.
func (p *pass) basicBlock(n int, shortcut bool, x ref) ref {
	out := p.convBlock(n, x)
	c := p.op("resnet.conv2", n, out)
	b := p.op("resnet.bn", n, c)
	p.hold(out)
	if shortcut {
		c = p.op("resnet.shortcut.0", n, x)
		c = p.op("resnet.shortcut.1", n, c)
		p.step++ // out += shortcut(x)
		p.hold(b, c)
	}
	r := p.op("resnet.relu", n, b)
	p.hold(x)
	p.unsaved(b)
	return r
}

// kaldiFbank records torchaudio.compliance.kaldi.fbank over a batch of waveforms: frames of 25 ms,
// one every 10 ms, padded to 512 samples for the Fourier transform. It computes in float32. At the
// end the mean of the features is subtracted.
func (p *pass) kaldiFbank(in Input, bands int, wave ref) (features ref, frames int) {
	scaled := p.float("waveforms * (1 << 15)", in.Batch*in.samples(), wave)
	frames = convolved(in.samples(), 400, 160)
	n := in.Batch * frames
	x := p.float("fbank.remove_dc_offset", n*400, scaled)
	square := p.float("fbank.log_energy", n*400, x)
	p.unsaved(square)
	pad := p.float("fbank.replication_pad", n*401, x)
	delayed := p.float("fbank.preemphasis", n*400, pad)
	x = p.float("fbank.preemphasized", n*400, x, pad, delayed)
	x = p.float("fbank.window", n*400, x)
	x = p.float("fbank.constant_pad", n*512, x)
	x = p.float("fbank.rfft", n*2*257, x) // complex64
	x = p.float("fbank.abs", n*257, x)
	x = p.float("fbank.pow", n*257, x)
	x = p.float("fbank.mm", n*bands, x)
	x = p.float("fbank.log", n*bands, x)
	x = p.op("fbank.centered", n*bands, x)
	p.hold(scaled)
	return x, frames
}
