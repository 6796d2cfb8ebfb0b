package diarization

import "fmt"

// The limits of a model's properties. They are far above any real model, and low enough that the
// sizes that sherpa-onnx computes fit into 32-bit integers and into memory.
const (
	maxWindow   = 60 * sampleRate
	maxLocal    = 16
	maxDim      = 1 << 16
	maxFeatures = 1024
)

// segmentation checks a segmentation model and returns its properties. It checks everything that
// sherpa-onnx 1.12.20 reads in offline-speaker-segmentation-pyannote-model.cc and uses in
// offline-speaker-diarization-pyannote-impl.h.
func (c *check) segmentation() properties {
	c.number("sample_rate", sampleRate, sampleRate)
	// sherpa-onnx shifts the window by a tenth of its length, in whole samples. It divides by this
	// number and by the receptive field shift, so neither may be 0.
	window := c.number("window_size", sampleRate/10, maxWindow)
	field := c.number("receptive_field_size", 1, maxWindow)
	shift := c.number("receptive_field_shift", 1, maxWindow)
	speakers := c.number("num_speakers", 1, maxLocal)
	overlap := c.number("powerset_max_classes", 1, 2)
	classes := c.number("num_classes", 1, 1+maxLocal+maxLocal*maxLocal)
	most := 0 // frames in a window
	if window > 0 && field > 0 && shift > 0 {
		// sherpa-onnx sums the frames of all windows in an array with room for window/shift frames
		// per window.
		switch most = window / shift; {
		case field > window:
			c.wrong("metadata receptive_field_size: expected at most the window of %d samples, "+
				"found %d", window, field)
		case shift > field:
			c.wrong("metadata receptive_field_shift: expected at most the receptive field of %d "+
				"samples, found %d", field, shift)
		case most < minFrames:
			c.wrong("metadata receptive_field_shift: expected at least %d frames in a window of "+
				"%d samples, found %d", minFrames, window, most)
		}
	}
	want := int64(free)
	if speakers > 0 && overlap > 0 {
		n, sum := 1+speakers, fmt.Sprintf("1 + %d speakers", speakers)
		if overlap == 2 {
			pairs := speakers * (speakers - 1) / 2
			n, sum = n+pairs, fmt.Sprintf("%s + %d pairs of them", sum, pairs)
		}
		if classes != 0 && classes != n {
			c.wrong("metadata num_classes: expected %d (%s), found %d", n, sum, classes)
		}
		want = int64(n)
	}
	if len(c.inputs) != 1 {
		c.wrong("inputs: expected 1, the samples, found %d", len(c.inputs))
	} else {
		length := int64(free)
		if window > 0 {
			length = int64(window)
		}
		c.tensor("input", c.inputs[0], floatType, 1, 1, length)
	}
	if len(c.outputs) == 0 {
		c.wrong("outputs: expected the classes of each frame, found none")
	} else {
		c.tensor("output", c.outputs[0], floatType, 1, free, want)
		c.produced(c.outputs[0], want)
		c.frames(c.outputs[0], most)
	}
	return properties{
		window: window, frame: shift, speakers: speakers, classes: classes,
		input: [3]int{1, 1, window},
	}
}

// frames checks that an output has at most so many frames in a window. most is 0 if the limit is
// unknown.
func (c *check) frames(v value, most int) {
	if most > 0 && len(v.shape) == 3 && v.shape[1] > int64(most) {
		c.wrong("output %q: expected at most %d frames of a window, found %d", v.name, most,
			v.shape[1])
	}
}

// minFrames is the smallest number of a speaker's frames in a window for which sherpa-onnx computes
// an embedding. If these frames together are shorter than one frame of features, sherpa-onnx ends
// the process. With a receptive field shift of at least a hundred samples, ten frames are long
// enough.
const minFrames = 10

// embedding checks an embedding model and returns its properties. It checks everything that
// sherpa-onnx 1.12.20 reads in speaker-embedding-extractor-*.cc.
func (c *check) embedding() properties {
	framework := c.word("framework", "wespeaker", "3d-speaker", "nemo")
	c.word("language")
	c.number("sample_rate", 8000, 48000)
	dim := c.number("output_dim", 1, maxDim)
	want := int64(free)
	if dim > 0 {
		want = int64(dim)
	}
	const trial = 208 // frames: 2 s, and a multiple of 16, as NeMo's models require
	p := properties{dim: dim, input: [3]int{1, trial, kaldiBands}}
	switch framework {
	case "wespeaker", "3d-speaker":
		c.number("normalize_samples", 0, 1)
		c.word("feature_normalize_type", "", "global-mean")
		if len(c.inputs) != 1 {
			c.wrong("inputs: expected 1, the features, found %d", len(c.inputs))
		} else {
			c.tensor("input", c.inputs[0], floatType, 1, free, kaldiBands)
		}
		if len(c.outputs) == 0 {
			c.wrong("outputs: expected the embedding, found none")
		} else {
			c.tensor("output", c.outputs[0], floatType, free, want)
			c.produced(c.outputs[0], want)
		}
	case "nemo":
		features := int64(c.number("feat_dim", 1, maxFeatures))
		if features == 0 {
			features = free
		}
		p.input, p.length, p.output = [3]int{1, int(features), trial}, trial, 1
		size := c.number("window_size_ms", 1, 1000)
		if stride := c.number("window_stride_ms", 1, 1000); size > 0 && stride > size {
			c.wrong("metadata window_stride_ms: expected at most the window of %d ms, found %d",
				size, stride)
		}
		c.word("feature_normalize_type", "", "per_feature")
		c.word("window_type", "", "hann", "hanning", "hamming", "povey", "rectangular",
			"blackman", "sine")
		if len(c.inputs) != 2 {
			c.wrong("inputs: expected 2, the features and their number of frames, found %d",
				len(c.inputs))
		} else {
			c.tensor("input", c.inputs[0], floatType, 1, features, free)
			c.tensor("input", c.inputs[1], int64Type, 1)
		}
		if len(c.outputs) < 2 {
			c.wrong("outputs: expected 2, the classes and the embedding, found %d", len(c.outputs))
		} else {
			c.tensor("output", c.outputs[1], floatType, free, want)
			c.produced(c.outputs[1], want)
		}
	}
	return p
}

// kaldiBands is the number of features that sherpa-onnx computes for models other than NeMo's.
const kaldiBands = 80

// produced checks the last dimension of an output if the file leaves it open, as exporters do after
// a squeeze or a batch norm. The weights from which the output is computed must give the dimension
// want. sherpa-onnx takes the dimension from the metadata. If the metadata are wrong, it reads or
// writes beyond the output.
func (c *check) produced(v value, want int64) {
	if want == free || v.hasShape && len(v.shape) > 0 && v.shape[len(v.shape)-1] != free {
		return
	}
	if n := c.width(v.name, maxSteps); n != free && n != want {
		c.wrong("output %q: expected a last dimension of %d, as the metadata has it, found "+
			"weights that make it %d", v.name, want, n)
	}
}

// maxSteps is the largest number of nodes that width goes back to find weights.
const maxSteps = 16

// width returns the last dimension of a node's output if weights determine it, otherwise free. It
// goes back at most so many steps.
func (c *check) width(name string, steps int) int64 {
	n, ok := c.producers[name]
	if !ok || steps == 0 || len(n.inputs) == 0 {
		return free
	}
	dimension := func(input, index int) int64 {
		if input >= len(n.inputs) {
			return free
		}
		shape, ok := c.weights[n.inputs[input]]
		if index < 0 {
			index += len(shape)
		}
		if !ok || index < 0 || index >= len(shape) {
			return free
		}
		return shape[index]
	}
	switch n.op {
	case "Identity", "Relu", "Tanh", "Sigmoid", "Softmax", "LogSoftmax":
		return c.width(n.inputs[0], steps-1)
	case "MatMul":
		return dimension(1, -1)
	case "Gemm":
		if n.transposed {
			return dimension(1, 0)
		}
		return dimension(1, 1)
	case "Add", "Sub", "Mul", "Div":
		// A vector of more than one number determines the width of the result.
		for input := range n.inputs {
			if w := dimension(input, -1); w > 1 {
				return w
			}
		}
		return c.width(n.inputs[0], steps-1)
	}
	return free
}
