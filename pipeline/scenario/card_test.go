package scenario_test

import (
	"os"
	"strings"
	"testing"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

func TestCard(t *testing.T) {
	for _, c := range []struct {
		name, card string
		mib        int64
	}{
		{"RTX 5080", "RTX 5080", 15840}, // PyTorch: a total capacity of 15.47 GiB
		{"rtx5080", "RTX 5080", 15840},
		{"5080", "RTX 5080", 15840},
		{"NVIDIA GeForce RTX 5080", "RTX 5080", 15840},
		{"RTX-4090", "RTX 4090", 24081},
		{"Tesla T4", "T4", 14930},
		{"NVIDIA A100-SXM4-80GB", "A100 80GB", 81050},
		{"NVIDIA A100-PCIE-40GB", "A100 40GB", 40326},
		{"NVIDIA H100 80GB HBM3", "H100", 81008},
		{"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", 48497},
		{"Tesla P100-PCIE-16GB", "P100", 16281},
		{"Tesla K80", "K80", 11441},
		{"NVIDIA GeForce GTX 1080", "GTX 1080", 8117},
		{"1080 Ti", "GTX 1080 Ti", 11169},
		{"RTX 4060 Ti", "RTX 4060 Ti", 7807},
		{"rtx 4060ti 16gb", "RTX 4060 Ti 16GB", 15934},
		{"16GiB", "", 16384},
		{"16GB", "", 16384},
		{"25276502016", "", 24105}, // exact bytes, from a log
	} {
		got, err := scenario.Card(c.name)
		if err != nil || got.Card != c.card || got.Total>>20 != c.mib || got.Context == 0 ||
			got.Source == "" {
			t.Errorf("%s: got %+v, %v, want %s with %d MiB", c.name, got, err, c.card, c.mib)
		}
	}
	for name, want := range map[string]string{
		"RTX 5008": "did you mean RTX 5080?",
		"A100":     "did you mean A100 40GB or A100 80GB?",
		"v100":     "did you mean V100 16GB or V100 32GB?",
		"Voodoo 2": "docs/reference/cards-and-models.md has the cards that are known; or give a size",
		"16":       "did you mean 16GiB?",
		"0":        "or give a size",
		"1MiB":     "write 16GiB or RTX 5080",
		"":         "or give a size",
	} {
		if got, err := scenario.Card(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want an error with %q", name, got, err, want)
		}
	}
}

// TestCards: CUDA reports at most the size in a card's data sheet, and at least 90 % of it. For "16
// GB" it reports some 15.5 GiB.
func TestCards(t *testing.T) {
	last := int64(0)
	for _, c := range scenario.Cards() {
		if c.Total > c.Size || float64(c.Total) < 0.9*float64(c.Size) || c.Size < last {
			t.Errorf("%s: got %d of %d bytes, want 90 to 100 %%", c.Card, c.Total, c.Size)
		}
		last = c.Size
		if again, err := scenario.Card(c.Card); err != nil || again != c {
			t.Errorf("%s: got %+v, %v", c.Card, again, err)
		}
	}
}

// TestDocsNameCardsAndModels: the documentation names each card and each model that is known.
func TestDocsNameCardsAndModels(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reference/cards-and-models.md")
	if err != nil {
		t.Fatal(err)
	}
	names := models.Names()
	for _, c := range scenario.Cards() {
		names = append(names, c.Card)
	}
	_, list, _ := strings.Cut(string(docs), "## Cards\n")
	list = strings.ReplaceAll(list, "\n", " ")
	for _, name := range names {
		if !strings.Contains(list, " "+name+",") && !strings.Contains(list, " "+name+".") {
			t.Errorf("docs/reference/cards-and-models.md does not name %s", name)
		}
	}
}
