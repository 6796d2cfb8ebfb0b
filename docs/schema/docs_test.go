package schema_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vramsoak/harness/check"
)

// page returns a page of docs/.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPolicyOfTheDocs compares the policy in docs/reference/policy.md with the default policy. It
// must show every key and be equal.
func TestPolicyOfTheDocs(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(page(t, "reference/policy.md"), "```yaml\n")
	text, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/reference/policy.md has no policy")
	}
	got, err := check.ParsePolicy([]byte(text), "docs/reference/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(check.DefaultPolicy(), got, cmp.Comparer(slices.Equal[[]string])); diff != "" {
		t.Errorf("docs/reference/policy.md has another policy than the default one (-program +docs):\n%s",
			diff)
	}
	for _, key := range readerKeys(formats[0].read, nil) {
		if strings.Contains(key, "[]") { // docs/how-to/log-format.md
			continue
		}
		name := key[strings.LastIndex(key, ".")+1:]
		if !strings.Contains(text, name+":") {
			t.Errorf("docs/reference/policy.md does not show %s", key)
		}
	}
}

// TestDialectsOfTheDocs reads the dialects in docs/how-to/log-format.md.
func TestDialectsOfTheDocs(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(page(t, "how-to/log-format.md"), "```yaml vramsoak.yaml\n")
	text, _, _ := strings.Cut(after, "```")
	policy, err := check.ParsePolicy([]byte(text), "docs/how-to/log-format.md")
	if err != nil || len(policy.Dialects) == 0 {
		t.Errorf("docs/how-to/log-format.md: %d dialects, %v", len(policy.Dialects), err)
	}
	v, _ := asJSON([]byte(text))
	if err := compiled(t, "policy").Validate(v); err != nil {
		t.Errorf("docs/how-to/log-format.md: %v", err)
	}
}

// TestPipelineOfTheDocs compares the example of docs/reference/pipeline-file.md with the fixture
// pipeline.yaml.
func TestPipelineOfTheDocs(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(page(t, "reference/pipeline-file.md"), "```yaml\n")
	block, _, _ := strings.Cut(after, "```")
	src, err := os.ReadFile("../../fixtures/scenarios/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(src), block); diff != "" {
		t.Errorf("docs/reference/pipeline-file.md shows another file than pipeline.yaml (-file "+
			"+docs):\n%s", diff)
	}
}
