package audio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadManifestErrors(t *testing.T) {
	const head = `{"schema":"vramsoak.manifest/1","sample_rate":16000,"files":`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", ":1:1: expected a batch manifest in JSON, found unexpected end of JSON " +
			"input; write it anew with vramsoak fixtures audio"},
		{"bad JSON", "{\n  \"schema\": ?\n}", ":2:13: expected a batch manifest in JSON, found " +
			"invalid character '?'"},
		{
			"wrong type", "{\n \"files\": [\n  {\"seconds\": \"5\"}]}",
			":3:17: expected a batch manifest in JSON, found json: cannot unmarshal string",
		},
		{
			"other schema", `{"schema":"vramsoak.manifest/2"}`,
			`: schema: expected "vramsoak.manifest/1", found "vramsoak.manifest/2"`,
		},
		{"no files", head + `[]}`, ": files: expected at least one file, found none"},
		{
			"outside", head + `[{"path":"../a.wav","seconds":1}]}`,
			`: files[0] (../a.wav): path: expected one inside the manifest's folder, found "../a.wav"`,
		},
		{
			"no length", head + `[{"path":"a.wav"}]}`,
			": files[0] (a.wav): seconds: expected above 0, found 0",
		},
		{
			"speakers", head + `[{"path":"a.wav","seconds":1,"speakers":2}]}`,
			": files[0] (a.wav): speakers: expected 0 as in the turns, found 2",
		},
		{
			"overlap", head +
				`[{"path":"a.wav","seconds":5,"speakers":2,` +
				`"turns":[{"start":0,"end":2,"speaker":"A"},{"start":1,"end":3,"speaker":"B"}]}]}`,
			": files[0] (a.wav): turns[1]: expected 2 <= start < end <= 5, found 1 to 3",
		},
		{
			"no speaker",
			head + `[{"path":"a.wav","seconds":5,"speakers":1,"turns":[{"start":0,"end":2}]}]}`,
			": files[0] (a.wav): turns[0]: expected a speaker, found none",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "manifest.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadManifest(path)
			if err == nil || !strings.HasPrefix(err.Error(), path+tt.want) {
				t.Errorf("got error %v\nwant       %s%s", err, path, tt.want)
			}
		})
	}
	if _, err := ReadManifest(filepath.Join(t.TempDir(), "manifest.json")); !os.IsNotExist(err) {
		t.Errorf("missing manifest: %v", err)
	}
}
