// Package python holds the Python files that pipelines import or copy.
//
// vramlog.py prints the checkpoint lines. Users copy it beside their program, so it is one file
// without dependencies. vramfree.py frees memory, and vramlook.py answers vramsoak doctor --force.
// Users who want that copy these files too.
//
// transcribe.py is a complete example: a transcription pipeline that prints
// all nineteen checkpoints of the original pipeline, and fails on request. networks.py has its
// neural networks.
//
// The only Go code here is the tests. They run the files with every Python on the PATH. For CUDA
// they use the stand-in in testdata/standin. With each Python that has PyTorch, they also run the
// programs in testdata/real. Of these, only cuda.py needs a GPU.
package python
