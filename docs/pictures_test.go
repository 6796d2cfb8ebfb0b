package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vramsoak/fixtures/pictures"
	"vramsoak/fixtures/program"
)

// drawnPictures are the pictures that commands draw, in the folder of the repository. The command
// writes the picture to $OUT.
var drawnPictures = map[string]string{
	"memory-leak.png": "vramsoak plot fixtures/pictures/leak.log.gz -o $OUT --width 1400 " +
		"--height 720",
	"over-files.png": "vramsoak plot fixtures/pictures/leak.log.gz --over files -o $OUT " +
		"--width 1400 --height 980",
	"memory-oom.png": "vramsoak plot fixtures/examples/night.log -o $OUT --width 1200 --height 600",
	"memory-fragmentation.png": "ci/soak-policy.sh >$OUT.yaml && vramsoak plot --policy $OUT.yaml " +
		"fixtures/pictures/malloc-default.log.gz -o $OUT --width 1400 --height 720",
	"fragmentation-before.png": "vramsoak simulate fixtures/scenarios/long-batch-before.yaml " +
		"--files 75 | vramsoak plot - --fragmentation -o $OUT --width 1200 --height 760",
	"fragmentation-after.png": "vramsoak simulate fixtures/scenarios/long-batch-after.yaml " +
		"--files 75 | vramsoak plot - --fragmentation -o $OUT --width 1200 --height 760",
	"compared.png": "vramsoak compare fixtures/compat/logs/exact.log fixtures/compat/logs/leak.log " +
		"-o $OUT --width 1200",
}

// TestDocsPictures: each picture of the docs is the one that the program draws now. With UPDATE=1,
// as make docs-pictures sets it, the test draws them.
func TestDocsPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates two batches")
	}
	bin := filepath.Dir(program.Path(t))
	for name, command := range drawnPictures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), name)
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "OUT="+out)
			if printed, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() == 2 {
				t.Fatalf("%s: %v\n%s", command, err, printed)
			}
			made, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			pictures.Check(t, filepath.Join("pictures", name), made)
		})
	}
}

// otherPictures match the pictures that the tests of other packages draw. Pictures of the HTML
// report are screenshots of a browser.
var otherPictures = regexp.MustCompile(`^(over-files-.*|trend|report-.*)\.png$`)

// TestPicturesAreShown: a page shows each picture of docs/pictures, and each is drawn by a test.
func TestPicturesAreShown(t *testing.T) {
	var shown []string
	link := regexp.MustCompile(`\(\S*?pictures/([\w.-]+)\)`)
	for _, path := range append(pages(t), "../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			shown = append(shown, m[1])
		}
	}
	files, err := filepath.Glob("pictures/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !slices.Contains(shown, name) {
			t.Errorf("no page shows %s", file)
		}
		if drawnPictures[name] == "" && !otherPictures.MatchString(name) {
			t.Errorf("no test draws %s: add it to drawnPictures", file)
		}
		if !strings.HasSuffix(name, ".png") {
			t.Errorf("%s is no PNG", file)
		}
	}
}
