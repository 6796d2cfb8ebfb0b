package main

import (
	"os"
	"strings"
	"testing"

	"vramsoak/pipeline/models"
	"vramsoak/pipeline/scenario"
)

// The documentation names each card and each model that is known.
func TestDocsNameCardsAndModels(t *testing.T) {
	docs, err := os.ReadFile("../../docs/reference/cards-and-models.md")
	if err != nil {
		t.Fatal(err)
	}
	names := models.Names()
	for _, c := range scenario.Cards() {
		names = append(names, c.Card)
	}
	_, list, _ := strings.Cut(string(docs), "## Cards and models that are known by name")
	list = strings.ReplaceAll(list, "\n", " ")
	for _, name := range names {
		if !strings.Contains(list, " "+name+",") && !strings.Contains(list, " "+name+".") {
			t.Errorf("docs/reference/cards-and-models.md does not name %s", name)
		}
	}
}
