// Package nearmiss explains a log in which no dialect read any memory. It finds the line that looks
// most like a reading of GPU memory, and writes a dialect that reads it:
//
//	var f nearmiss.Finder
//	io.Copy(&f, log)
//	line, ok := f.Line() // 17, "显存占用: 1.23 GB", "dialects:\n  - name: my-log\n ..."
//
// The dialect was tried on the line and on all lines that look like it, so it reads them. If the
// meaning of a number is not sure, there is no dialect, and Line.Unclear says why.
package nearmiss
