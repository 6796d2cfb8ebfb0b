package onnx

// Produced checks the last dimension of an output if the file leaves it open, as exporters do after
// a squeeze or a batch norm. The weights from which the output is computed must give the dimension
// want. sherpa-onnx takes the dimension from the metadata. If the metadata are wrong, it reads or
// writes beyond the output.
func (c *Checked) Produced(v Value, want int64) {
	if want == Free || v.HasShape && len(v.Shape) > 0 && v.Shape[len(v.Shape)-1] != Free {
		return
	}
	if n := c.width(v.Name, maxSteps); n != Free && n != want {
		c.Wrong("output %q: expected a last dimension of %d, as the metadata has it, found "+
			"weights that make it %d", v.Name, want, n)
	}
}

// maxSteps is the largest number of nodes that width goes back to find weights.
const maxSteps = 16

// width returns the last dimension of a node's output if weights determine it, otherwise Free. It
// goes back at most so many steps.
func (c *Checked) width(name string, steps int) int64 {
	n, ok := c.producers[name]
	if !ok || steps == 0 || len(n.inputs) == 0 {
		return Free
	}
	dimension := func(input, index int) int64 {
		if input >= len(n.inputs) {
			return Free
		}
		shape, ok := c.weights[n.inputs[input]]
		if index < 0 {
			index += len(shape)
		}
		if !ok || index < 0 || index >= len(shape) {
			return Free
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
	return Free
}

// Rows returns the number of rows of the table in which an input looks up its rows, such as the
// embeddings of words by their numbers. It returns [Free] if no operation does that with weights.
func (c *Checked) Rows(input string) int64 {
	for _, n := range c.producers {
		if n.op != "Gather" || len(n.inputs) < 2 || n.inputs[1] != input {
			continue
		}
		if shape, ok := c.weights[n.inputs[0]]; ok && len(shape) == 2 {
			return shape[0]
		}
	}
	return Free
}
