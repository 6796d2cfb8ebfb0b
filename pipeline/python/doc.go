// Package python holds the Python files that pipelines import or copy.
//
// vramlog.py prints the checkpoint lines. Users copy it beside their program, so it is one file
// without dependencies. transcribe.py is a complete example: a transcription pipeline that prints
// all nineteen checkpoints of the original pipeline, and fails on request. networks.py has its
// neural networks.
//
// The only Go code here is the tests. They run vramlog.py and transcribe.py with every Python on
// the PATH. If torch is not installed, the tests use the stand-in in testdata/standin.
package python
