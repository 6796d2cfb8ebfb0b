package models

import "fmt"

const sampleRate = 16000 // of all speech models here, in Hz

// pyannote returns the models of pyannote.audio's speaker diarization: segmentation finds who
// speaks when in a window of 10 s, and the embedding models tell whose voice it is.
func pyannote() []*Model {
	return []*Model{
		// 7 classes: the sets of at most 2 of 3 speakers.
		segmentation("pyannote-segmentation-3.0", "pyannote/segmentation-3.0", 7),
		wespeaker(),
		xvector(),
	}
}

// samples returns the number of samples in an item's waveform.
func (in Input) samples() int { return max(1, int(in.Seconds*sampleRate)) }

// convolved returns the length of the result of a convolution or a pooling without padding over n
// values. It is at least 1, although PyTorch would raise an error for shorter inputs.
func convolved(n, kernel, stride int) int { return max(1, (n-kernel)/stride+1) }

// sincnet adds the weights of pyannote.audio's blocks/sincnet.py, with the filters of
// asteroid_filterbanks' ParamSincFB(80, 251).
func sincnet(s module) {
	s.norm("wav_norm1d", 1)
	filters := s.in("conv1d.0.filterbank")
	filters.parameter("low_hz_", 40, 1)
	filters.parameter("band_hz_", 40, 1)
	filters.buffer("window_", 125)
	filters.buffer("n_", 1, 125)
	s.conv("conv1d.1", true, 60, 80, 5)
	s.conv("conv1d.2", true, 60, 60, 5)
	for i, n := range []int{80, 60, 60} {
		s.norm(fmt.Sprintf("norm1d.%d", i), n)
	}
}

// sincnet records SincNet.forward with stride 10. It returns the 60 features of each frame and the
// number of frames.
func (p *pass) sincnet(in Input) (features ref, frames int) {
	wave := p.op("waveforms", in.Batch*in.samples())
	x := p.op("sincnet.wav_norm1d", in.Batch*in.samples(), wave)
	n := in.samples()
	for i, conv := range []struct{ channels, kernel, stride int }{
		{80, 251, 10},
		{60, 5, 1},
		{60, 5, 1},
	} {
		n = convolved(n, conv.kernel, conv.stride)
		x = p.op("sincnet.conv1d", in.Batch*conv.channels*n, x)
		if i == 0 {
			x = p.op("sincnet.abs", in.Batch*conv.channels*n, x)
		}
		n = convolved(n, 3, 3)
		y := p.op("sincnet.pool1d", in.Batch*conv.channels*n, x)
		// max_pool1d_with_indices makes the indices even if nobody uses them.
		p.with("sincnet.pool1d indices", 8*int64(in.Batch*conv.channels*n))
		y = p.op("sincnet.norm1d", in.Batch*conv.channels*n, y)
		y = p.op("sincnet.leaky_relu", in.Batch*conv.channels*n, y)
		p.hold(x, wave)
		x = y
	}
	return x, n
}

// segmentation returns pyannote.audio's PyanNet with the dimensions in segmentation-3.0's
// config.yaml: lstm: {hidden_size: 128, num_layers: 4, bidirectional: true}, linear: {hidden_size:
// 128, num_layers: 2}, sincnet: {stride: 10}.
func segmentation(name, id string, classes int) *Model {
	const hidden, layers = 128, 4
	m := &Model{
		Name: name, ID: id, Family: "segmentation",
		Source: "pyannote.audio, models/segmentation/PyanNet.py; huggingface.co/" + id +
			", config.yaml",
		multiplies: true, usual: Input{Batch: 32, Seconds: 10},
	}
	s := module{m: m}
	sincnet(s.in("sincnet"))
	s.lstm("lstm", 60, hidden, layers)
	s.linear("linear.0", 2*hidden, hidden, true)
	s.linear("linear.1", hidden, hidden, true)
	s.linear("classifier", hidden, classes, true)
	m.forward = func(p *pass, in Input) {
		x, frames := p.sincnet(in)
		n := in.Batch * frames
		x = p.op("lstm input", n*60, x) // batch_first: made contiguous with time first
		x = p.op("lstm", n*2*hidden, x)
		// cuDNN does not document its workspace. It needs at least the gates of both directions and the
		// output of one layer.
		p.with("lstm workspace", p.d.Bytes(n*2*(4*hidden+hidden)))
		for range 2 {
			x = p.op("linear", n*hidden, x)
			x = p.op("leaky_relu", n*hidden, x)
		}
		x = p.op("classifier", n*classes, x)
		p.result(p.op("log_softmax", n*classes, x))
	}
	return m
}
