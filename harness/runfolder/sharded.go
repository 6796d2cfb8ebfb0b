package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"vramsoak/parser/bounded"
)

// ShardedSchema is the value of "schema" in the run.json of a run of several shards.
const ShardedSchema = "vramsoak.shards/1"

// A Sharded is the content of the run.json of a run of several shards: what all shards have in
// common. The shard that comes first writes it. The others compare.
type Sharded struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"`
	Command []string `json:"command"` // of the first shard, with its secrets masked
	Shards  int      `json:"shards"`
	Files   int      `json:"files"` // in all rounds; 0 if that is not known in advance
	Batch   string   `json:"batch"` // digest: see package shard
	Policy  string   `json:"policy,omitempty"`
}

// Join makes the folder of a run and its run.json, if it does not exist. If it exists, Join returns
// an error unless it is of a run with the same shards, batch, policy and version. The function undo
// removes what Join made, unless other shards have begun.
func (s Sharded) Join(dir string) (undo func(), err error) {
	_, found := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, InfoName)
	other, err := ReadSharded(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.write(path); err != nil {
			return nil, err
		}
		other, err = ReadSharded(dir) // another shard may have been faster
	}
	if err != nil {
		return nil, err
	}
	undo = func() {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) == 1 && entries[0].Name() == InfoName {
			_ = os.Remove(path) // the caller reports an error already
		}
		if errors.Is(found, fs.ErrNotExist) {
			_ = os.Remove(dir) // fails if another shard has begun
		}
	}
	return undo, s.contradicts(other, path)
}

// write writes run.json as a whole, unless it exists.
func (s Sharded) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+InfoName+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone if it was renamed
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(f.Name(), path) // the file system has no hard links
}

// contradicts returns an error unless both describe the same run.
func (s Sharded) contradicts(other Sharded, path string) error {
	var errs []error
	differs := func(what string, found, expected any) {
		if found != expected {
			errs = append(errs, fmt.Errorf("%s: expected %s %v, as this shard has, found %v", path,
				what, expected, found))
		}
	}
	differs("shards", other.Shards, s.Shards)
	differs("the version", other.Version, s.Version)
	if other.Policy != s.Policy {
		errs = append(errs, fmt.Errorf("%s: expected the policy that this shard has, found another",
			path))
	}
	if len(errs) == 0 && other.Batch != s.Batch {
		errs = append(errs, fmt.Errorf("%s: expected the batch of this shard (digest %s), found "+
			"another (digest %s): the files, their lengths, --repeat, --shuffle or --until differ",
			path, s.Batch, other.Batch))
	}
	if len(errs) > 0 {
		errs = append(errs, errors.New("all shards of a run must have the same; to begin another "+
			"run, give it a name of its own with --run"))
	}
	return errors.Join(errs...)
}

// ReadSharded returns the content of the run.json of a run of several shards.
func ReadSharded(dir string) (s Sharded, err error) {
	path := filepath.Join(dir, InfoName)
	text, err := bounded.ReadJSON(path, infoMax)
	if err != nil {
		return Sharded{}, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return Sharded{}, fmt.Errorf("%s: expected what vramsoak soak wrote there: %w", path, err)
	}
	if s.Schema != ShardedSchema {
		return Sharded{}, fmt.Errorf("%s: expected the run.json of a run of several shards, with the "+
			"schema %s, found %q; give this run another name with --run", path, ShardedSchema, s.Schema)
	}
	return s, nil
}
