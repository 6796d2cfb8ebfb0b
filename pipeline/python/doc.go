// Package python holds what pipelines in Python import.
//
// vramlog.py prints the checkpoint lines. Users copy it beside their program, so it is one file
// without dependencies. transcribe.py is a complete example: a transcription pipeline that prints
// all nineteen checkpoints and fails on request; networks.py has its networks.
//
// The only Go code here are the tests. They run both with every Python on the PATH. Where torch is
// not installed, a stand-in takes its part (testdata/standin).
package python
