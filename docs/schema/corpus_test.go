package schema_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// repository is the path to the root of the repository.
const repository = "../.."

// eachFile visits the files of the repository with one of the endings. It also visits such files
// inside the tests' txtar files.
func eachFile(t *testing.T, endings []string, visit func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != repository && strings.HasPrefix(d.Name(), "."),
			d.IsDir() && filepath.Dir(path) == repository && (d.Name() == "bin" || d.Name() == "runs"):
			return fs.SkipDir // build outputs and runs
		case !d.Type().IsRegular() || !slices.Contains(append(endings, ".txtar"), filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".txtar" {
			visit(path, text)
			return nil
		}
		for _, f := range txtar.Parse(text).Files {
			if slices.Contains(endings, filepath.Ext(f.Name)) {
				visit(path+": "+f.Name, f.Data)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestYAMLOfTheRepository validates each YAML file of the repository against both schemas. A schema
// must accept what its reader accepts, and refuse a file that its reader refuses because of a key.
// So each policy is also tested as a pipeline file with wrong keys, and the reverse.
func TestYAMLOfTheRepository(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		holds := compiled(t, f.name)
		taken, refused := 0, 0
		eachFile(t, []string{".yaml", ".yml"}, func(name string, text []byte) {
			v, ok := asJSON(text)
			if !ok {
				return
			}
			read := f.read(text)
			unknown := slices.ContainsFunc(mistakes(read), func(m mistake) bool {
				return strings.HasPrefix(m.Expected, keysExpected)
			})
			valid := holds.Validate(v)
			switch {
			case read == nil && valid != nil:
				t.Errorf("%s is a valid %s, but the schema refuses it: %v", name, f.name, valid)
			case unknown && valid == nil:
				t.Errorf("%s has a key that no %s has, but the schema accepts it: %v", name, f.name, read)
			case read == nil:
				taken++
			case unknown:
				refused++
			}
		})
		if taken < 10 || refused < 10 {
			t.Errorf("%s: expected good files and files with wrong keys in the repository, found %d and %d",
				f.name, taken, refused)
		}
	}
}

// TestVerdictsOfTheRepository validates each verdict in the repository, also those in run folders
// of earlier versions. The tests of cmd/vramsoak validate current output.
func TestVerdictsOfTheRepository(t *testing.T) {
	t.Parallel()
	holds := compiled(t, "verdict")
	found := 0
	eachFile(t, []string{".json"}, func(name string, text []byte) {
		if !bytes.Contains(text, []byte(`"schema": "vramsoak.verdict/1"`)) {
			return
		}
		v, ok := asJSON(text)
		if !ok {
			t.Errorf("%s is not JSON", name)
			return
		}
		found++
		if err := holds.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	if found < 20 {
		t.Errorf("expected the verdicts of run folders and goldens, found %d", found)
	}
}
