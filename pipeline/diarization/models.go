package diarization

import (
	"fmt"

	"vramsoak/pipeline/onnx"
)

// The limits of a model's properties. They are far above any real model, and low enough that the
// sizes that sherpa-onnx computes fit into 32-bit integers and into memory.
const (
	maxWindow   = 60 * sampleRate
	maxLocal    = 16
	maxDim      = 1 << 16
	maxFeatures = 1024
)

// checkSegmentation checks a segmentation model and returns its properties. It checks everything
// that sherpa-onnx 1.12.20 reads in offline-speaker-segmentation-pyannote-model.cc and uses in
// offline-speaker-diarization-pyannote-impl.h.
func checkSegmentation(c *onnx.Checked) properties {
	c.Number("sample_rate", sampleRate, sampleRate)
	// sherpa-onnx shifts the window by a tenth of its length, in whole samples. It divides by this
	// number and by the receptive field shift, so neither may be 0.
	window := c.Number("window_size", sampleRate/10, maxWindow)
	field := c.Number("receptive_field_size", 1, maxWindow)
	shift := c.Number("receptive_field_shift", 1, maxWindow)
	speakers := c.Number("num_speakers", 1, maxLocal)
	overlap := c.Number("powerset_max_classes", 1, 2)
	classes := c.Number("num_classes", 1, 1+maxLocal+maxLocal*maxLocal)
	most := 0 // frames in a window
	if window > 0 && field > 0 && shift > 0 {
		// sherpa-onnx sums the frames of all windows in an array with room for window/shift frames
		// per window.
		switch most = window / shift; {
		case field > window:
			c.Wrong("metadata receptive_field_size: expected at most the window of %d samples, "+
				"found %d", window, field)
		case shift > field:
			c.Wrong("metadata receptive_field_shift: expected at most the receptive field of %d "+
				"samples, found %d", field, shift)
		case most < minFrames:
			c.Wrong("metadata receptive_field_shift: expected at least %d frames in a window of "+
				"%d samples, found %d", minFrames, window, most)
		}
	}
	want := int64(onnx.Free)
	if speakers > 0 && overlap > 0 {
		n, sum := 1+speakers, fmt.Sprintf("1 + %d speakers", speakers)
		if overlap == 2 {
			pairs := speakers * (speakers - 1) / 2
			n, sum = n+pairs, fmt.Sprintf("%s + %d pairs of them", sum, pairs)
		}
		if classes != 0 && classes != n {
			c.Wrong("metadata num_classes: expected %d (%s), found %d", n, sum, classes)
		}
		want = int64(n)
	}
	if len(c.Inputs) != 1 {
		c.Wrong("inputs: expected 1, the samples, found %d", len(c.Inputs))
	} else {
		length := int64(onnx.Free)
		if window > 0 {
			length = int64(window)
		}
		c.Tensor("input", c.Inputs[0], onnx.Float, 1, 1, length)
	}
	if len(c.Outputs) == 0 {
		c.Wrong("outputs: expected the classes of each frame, found none")
	} else {
		c.Tensor("output", c.Outputs[0], onnx.Float, 1, onnx.Free, want)
		c.Produced(c.Outputs[0], want)
		checkFrames(c, c.Outputs[0], most)
	}
	return properties{
		window: window, frame: shift, speakers: speakers, classes: classes,
		input: [3]int{1, 1, window},
	}
}

// checkFrames checks that an output has at most so many frames in a window. most is 0 if the limit
// is unknown.
func checkFrames(c *onnx.Checked, v onnx.Value, most int) {
	if most > 0 && len(v.Shape) == 3 && v.Shape[1] > int64(most) {
		c.Wrong("output %q: expected at most %d frames of a window, found %d", v.Name, most,
			v.Shape[1])
	}
}

// minFrames is the smallest number of a speaker's frames in a window for which sherpa-onnx computes
// an embedding. If these frames together are shorter than one frame of features, sherpa-onnx ends
// the process. With a receptive field shift of at least a hundred samples, ten frames are long
// enough.
const minFrames = 10

// checkEmbedding checks an embedding model and returns its properties. It checks everything that
// sherpa-onnx 1.12.20 reads in speaker-embedding-extractor-*.cc.
func checkEmbedding(c *onnx.Checked) properties {
	framework := c.Word("framework", "wespeaker", "3d-speaker", "nemo")
	c.Word("language")
	c.Number("sample_rate", 8000, 48000)
	dim := c.Number("output_dim", 1, maxDim)
	want := int64(onnx.Free)
	if dim > 0 {
		want = int64(dim)
	}
	const trial = 208 // frames: 2 s, and a multiple of 16, as NeMo's models require
	p := properties{dim: dim, input: [3]int{1, trial, kaldiBands}}
	switch framework {
	case "wespeaker", "3d-speaker":
		c.Number("normalize_samples", 0, 1)
		c.Word("feature_normalize_type", "", "global-mean")
		if len(c.Inputs) != 1 {
			c.Wrong("inputs: expected 1, the features, found %d", len(c.Inputs))
		} else {
			c.Tensor("input", c.Inputs[0], onnx.Float, 1, onnx.Free, kaldiBands)
		}
		if len(c.Outputs) == 0 {
			c.Wrong("outputs: expected the embedding, found none")
		} else {
			c.Tensor("output", c.Outputs[0], onnx.Float, onnx.Free, want)
			c.Produced(c.Outputs[0], want)
		}
	case "nemo":
		features := int64(c.Number("feat_dim", 1, maxFeatures))
		if features == 0 {
			features = onnx.Free
		}
		p.input, p.length, p.output = [3]int{1, int(features), trial}, trial, 1
		size := c.Number("window_size_ms", 1, 1000)
		if stride := c.Number("window_stride_ms", 1, 1000); size > 0 && stride > size {
			c.Wrong("metadata window_stride_ms: expected at most the window of %d ms, found %d",
				size, stride)
		}
		c.Word("feature_normalize_type", "", "per_feature")
		c.Word("window_type", "", "hann", "hanning", "hamming", "povey", "rectangular",
			"blackman", "sine")
		if len(c.Inputs) != 2 {
			c.Wrong("inputs: expected 2, the features and their number of frames, found %d",
				len(c.Inputs))
		} else {
			c.Tensor("input", c.Inputs[0], onnx.Float, 1, features, onnx.Free)
			c.Tensor("input", c.Inputs[1], onnx.Int64, 1)
		}
		if len(c.Outputs) < 2 {
			c.Wrong("outputs: expected 2, the classes and the embedding, found %d", len(c.Outputs))
		} else {
			c.Tensor("output", c.Outputs[1], onnx.Float, onnx.Free, want)
			c.Produced(c.Outputs[1], want)
		}
	}
	return p
}

// kaldiBands is the number of features that sherpa-onnx computes for models other than NeMo's.
const kaldiBands = 80
