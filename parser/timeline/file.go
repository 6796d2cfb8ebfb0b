package timeline

import (
	"cmp"
	"path"
	"slices"
	"unsafe"

	"vramsoak/parser/record"
)

// begin begins a file in a log without the harness's lines.
func (b *Builder) begin(start record.FileStart) {
	// The file that ends here has no checkpoints, so its work may have lasted until now.
	if f := b.file; f != nil && len(f.Checkpoints) == 0 && !start.Time.IsZero() {
		f.End = start.Time
	}
	start.Index = len(b.tl.Files) - b.log.files + 1
	b.open(start)
}

// currentFile returns the file to which a record of the pipeline belongs: the file that is being
// processed. Between two files, it returns a [File] with Outside set, which holds the records
// between the two files.
func (b *Builder) currentFile(h *record.Header) *File {
	switch {
	case b.file != nil:
		return b.file
	case b.outside == nil:
		b.outside = b.newFile(File{
			Outside: true, Writer: b.writer, Supervised: b.log.supervised,
			Run: b.run, Batch: b.batch, Process: b.process,
			Pos: h.Pos, EndPos: h.Pos, Start: h.Time, End: h.Time,
		})
		b.tl.Outside = append(b.tl.Outside, b.outside)
	}
	return b.outside
}

// open begins the file that a file-start line names. If another file is still being processed,
// open ends that file first.
func (b *Builder) open(start record.FileStart) {
	b.close()
	b.moveGaps(b.log.between)
	b.log.between = nil
	b.file = b.newFile(File{
		Index: start.Index, Path: start.Path, Writer: b.writer, AudioSeconds: start.AudioSeconds,
		Supervised: b.log.supervised, Run: b.run, Batch: b.batch, Process: b.process,
		Pos: start.Pos, EndPos: start.Pos, Start: start.Time, End: start.Time,
	})
	b.tl.Files = append(b.tl.Files, b.file)
	if start.Path != "" {
		if b.log.paths == nil {
			b.log.paths = map[string]int{}
		}
		b.log.paths[start.Path] = len(b.tl.Files) - 1
	}
}

// noteAudioLength sets AudioSeconds of the file that is being processed from the pipeline's line
// r, if the harness did not give it.
func (b *Builder) noteAudioLength(r record.FileStart) {
	f := b.file
	if f != nil && f.AudioSeconds == 0 && (f.Path == "" || path.Base(r.Path) == path.Base(f.Path)) {
		f.AudioSeconds = r.AudioSeconds
	}
}

// filesAtOnce is how many files newFile allocates at a time. A log may have a hundred thousand
// files, and allocating each alone would be slow. 24 KiB is a size class of Go's allocator (see
// sizeclasses.go in package runtime), so nearly none of it is left over.
const filesAtOnce = 24 << 10 / unsafe.Sizeof(File{})

// newFile returns a pointer to a copy of f.
func (b *Builder) newFile(f File) *File {
	b = b.main()
	if len(b.spareFiles) == 0 {
		b.spareFiles = make([]File, filesAtOnce)
	}
	next := &b.spareFiles[0]
	b.spareFiles = b.spareFiles[1:]
	*next = f
	return next
}

// extend sets the end of the file to the position and the time of a record. If the file has no
// start time yet, extend sets it to this time, too.
func (f *File) extend(h *record.Header) {
	f.EndPos = h.Pos
	if f.Start.IsZero() {
		f.Start = h.Time
	}
	if !h.Time.IsZero() {
		f.End = h.Time
	}
}

// end ends the file that a file-end line names. If the log has the harness's lines, a file-end
// line of the pipeline does not end the file; it only gives the file's error.
func (b *Builder) end(r record.FileEnd) {
	if r.Pipeline && b.log.supervised {
		if b.file != nil {
			b.file.Error = r.Error
		}
		return
	}
	if !r.Pipeline {
		b.noteHarness(r.Header)
	}
	f := b.fileEnding(r)
	if f == nil {
		return
	}
	f.extend(&r.Header)
	f.Status, f.Seconds = r.Status, r.Seconds
	f.Path = cmp.Or(f.Path, r.Path)
	if r.Error != "" {
		f.Error = r.Error
	}
	if !r.Pipeline && !f.Supervised { // the log lacks its beginning
		f.Supervised, f.Index, f.Path = true, r.Index, r.Path
	}
	if f == b.file {
		b.close()
	}
}

// fileEnding returns the file that a file-end line ends: the file that is being processed, or an
// earlier file with the line's path. It returns nil if the line repeats an earlier file-end. Some
// pipelines print only file-end lines. Then the file consists of the records since the previous
// file, or it is a new file without records.
func (b *Builder) fileEnding(r record.FileEnd) *File {
	if b.file != nil && (r.Path == "" || b.file.Path == "" || b.file.Path == r.Path ||
		b.file.Supervised) {
		return b.file
	}
	if i, known := b.log.paths[r.Path]; known {
		if f := b.tl.Files[i]; f.Status == record.StatusUnknown {
			return f
		}
		return nil
	}
	stretch := b.outside
	if b.file != nil {
		stretch = nil
	}
	start := record.FileStart{Header: r.Header, Index: r.Index, Path: r.Path}
	if start.Index == 0 {
		start.Index = len(b.tl.Files) - b.log.files + 1
	}
	said := b.log.between
	b.log.between = nil
	if stretch == nil {
		b.open(start)
		b.file.takeGaps(said)
		return b.file
	}
	work := *stretch
	b.tl.Outside, b.outside = b.tl.Outside[:len(b.tl.Outside)-1], nil
	start.Pos, start.Time = work.Pos, work.Start
	b.open(start)
	b.file.Checkpoints, b.file.OOMs = work.Checkpoints, work.OOMs
	b.file.takeGaps(said)
	return b.file
}

// close ends the file that is being processed, or the part of the log since the last file.
func (b *Builder) close() {
	clear(b.log.failing)
	if f := b.file; f != nil {
		measured := f.Supervised && f.Status != record.StatusUnknown // the harness gave Seconds
		if f.Seconds == 0 && !measured && !f.Start.IsZero() {
			f.Seconds = max(0, f.End.Sub(f.Start).Seconds()) // a clock may go back
		}
		b.file = nil
		b.finish(f)
	}
	b.closeOutside()
}

// closeOutside ends the part of the log since the last file, if it has any records.
func (b *Builder) closeOutside() {
	if f := b.outside; f != nil {
		b.outside = nil
		b.finish(f)
	}
}

// allSampled reports whether a timer or a step counter took all of the file's checkpoints.
func (f *File) allSampled() bool {
	return !slices.ContainsFunc(f.Checkpoints, func(c record.Checkpoint) bool { return !c.Sampled })
}
