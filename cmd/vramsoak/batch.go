package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramsoak/harness/queue"
	"vramsoak/harness/runfolder"
	"vramsoak/parser/bounded"
	"vramsoak/pipeline/audio"
)

// inputs returns the files of a batch, in order. Each source is a folder, a manifest, a list (.txt,
// one path in each line), or a file. A folder stands for its manifest.json or, without one, for all
// its files by name. If no manifest gives a file's length, a WAV file's header does. The function
// check, such as missing, returns an error if the files of a source are wrong. The error of inputs
// names every wrong source, and the flag that named it.
func inputs(flag string, sources []string, check func([]queue.Input) error) ([]queue.Input, error) {
	var all []queue.Input
	var errs []error
	for _, source := range sources {
		err := readable(source)
		var files []queue.Input
		if err == nil {
			if files, err = inputsOf(source); err == nil {
				err = check(files)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", source, err)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
		}
		all = append(all, files...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for i := range all {
		if f := &all[i]; f.AudioSeconds == 0 {
			f.AudioSeconds, _ = audio.WAVSeconds(f.Path)
		}
	}
	return all, nil
}

// missing returns an error if some of the files do not exist. So a long soak does not find that out
// in the middle of the night. An address such as s3://bucket/a.wav is not checked, because only
// the command can read it.
func missing(files []queue.Input) error {
	const named = 20
	var gone []string // the first missing files
	n := 0
	for _, f := range files {
		if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) &&
			!strings.Contains(f.Path, "://") {
			if n++; n <= named {
				gone = append(gone, f.Path)
			}
		}
	}
	if n == 0 {
		return nil
	}
	text := strings.Join(gone, ", ")
	if n > named {
		text += fmt.Sprintf(" and %d more", n-named)
	}
	return fmt.Errorf("%d of %d files are missing: %s; the paths in a list are relative to the "+
		"current folder, those in a manifest to the manifest's folder",
		n, len(files), text)
}

// rounds says how often and in which order a batch is fed.
type rounds struct {
	repeat int
	seed   *uint64 // of the random order; nil keeps the order of the batch
	// shard is the number of the shard if the batch is one of several, else 0. whole is then the
	// number of files in the whole batch.
	shard, whole int
}

// of returns the batch repeated. With a seed, each round has its own order, which depends only on
// the seed, on the shard and on the number of files. The function more returns one further round at
// each call.
func (r rounds) of(files []queue.Input) (all []queue.Input, more func() []queue.Input, err error) {
	switch {
	case r.repeat < 1:
		return nil, nil, fmt.Errorf("--repeat: expected 1 or more, found %d", r.repeat)
	case len(files) == 0 && r.repeat > 1 && r.shard == 0:
		return nil, nil, errors.New("--repeat: expected files to feed, found none; name them " +
			"with --files")
	case len(files) == 0 && r.seed != nil && r.shard == 0:
		return nil, nil, errors.New("--shuffle: expected files to feed, found none; name them " +
			"with --files")
	case max(len(files), r.whole) > runfolder.MaxFiles/r.repeat:
		return nil, nil, fmt.Errorf("--repeat: expected at most %d files in all, found %d "+
			"times %d", runfolder.MaxFiles, r.repeat, max(len(files), r.whole))
	}
	var random *rand.Rand
	if r.seed != nil {
		random = rand.New(rand.NewPCG(*r.seed, uint64(r.shard)))
	}
	n := 0 // of the next round
	more = func() []queue.Input {
		round := slices.Clone(files)
		if random != nil {
			random.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		}
		if r.shard > 0 {
			for i := range round {
				round[i].Place += n * r.whole
			}
		}
		n++
		return round
	}
	for range r.repeat {
		all = append(all, more()...)
	}
	return all, more, nil
}

func inputsOf(source string) ([]queue.Input, error) {
	info, err := os.Stat(source)
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the path
	}
	switch {
	case info.IsDir():
		manifest := filepath.Join(source, audio.ManifestName)
		if _, err := os.Stat(manifest); err == nil {
			return fromManifest(manifest)
		}
		return fromFolder(source)
	case filepath.Ext(source) == ".json":
		return fromManifest(source)
	case filepath.Ext(source) == ".txt":
		return fromList(source)
	}
	return []queue.Input{{Path: source}}, nil
}

func fromManifest(path string) ([]queue.Input, error) {
	manifest, err := audio.ReadManifest(path)
	if err != nil {
		return nil, err
	}
	files := make([]queue.Input, 0, len(manifest.Files))
	for _, f := range manifest.Files {
		files = append(files, queue.Input{
			Path:         filepath.Join(filepath.Dir(path), f.Path),
			AudioSeconds: f.Seconds,
		})
	}
	return files, nil
}

func fromFolder(dir string) ([]queue.Input, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []queue.Input
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, queue.Input{Path: filepath.Join(dir, e.Name())})
		}
	}
	if len(files) == 0 {
		return nil, errors.New("expected files in the folder, found none; folders in it, and " +
			"names that begin with a dot, are skipped")
	}
	return files, nil
}

// fromList reads a list with one path in each line. It skips empty lines and lines that begin with
// #.
func fromList(path string) ([]queue.Input, error) {
	list, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }() // only read
	var files []queue.Input
	for text, err := range bounded.Lines(list, path) {
		if err != nil {
			return nil, err
		}
		line := strings.TrimRight(string(text), "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(files) == runfolder.MaxFiles {
			return nil, fmt.Errorf("expected at most %d paths, found more", runfolder.MaxFiles)
		}
		files = append(files, queue.Input{Path: line})
	}
	if len(files) == 0 {
		return nil, errors.New("expected one path on each line, found none")
	}
	return files, nil
}
