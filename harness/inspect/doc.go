// Package inspect asks the running processes of a pipeline which tensors are alive.
//
// A process that imports vramlog.py with vramlook.py beside it listens on a socket in the folder
// [Folder] of the run folder. The harness names that folder to each process that it starts. A
// request and its answer are one line of JSON each:
//
//	{"ask": "tensors", "most": 20, "device": "cuda:0"}
//	{"schema": "vramlog.tensors/1", "pid": 4711, "groups": [...], ...}
//
// A process only answers. Nothing that the harness does or judges depends on it.
package inspect
