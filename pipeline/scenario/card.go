package scenario

import (
	"fmt"
	"strings"

	"vramsoak/parser"
)

// Card is a card by its name ("RTX 5080", "NVIDIA GeForce RTX 5080", "rtx5080") or by a size ("16GiB").
func Card(name string) (GPU, error) {
	if size, err := parser.ParseSize(name); err == nil && size.Bytes >= leastBare {
		return sized(size.Bytes), nil
	}
	want := plainName(name)
	for _, c := range cards {
		if plainName(c.Card) == want {
			return c, nil
		}
	}
	return GPU{}, fmt.Errorf("expected a card such as RTX 5080, or a size such as 16GiB, found %q; %s", name, cardAdvice(name))
}

// Cards are all that are known by name, the smallest first.
func Cards() []GPU { return append([]GPU(nil), cards...) }

// plainName leaves out what names of cards are written with or without.
func plainName(name string) string {
	name = strings.ToLower(name)
	for _, word := range []string{"nvidia", "geforce", "tesla", "quadro"} {
		name = strings.ReplaceAll(name, word, "")
	}
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name)
}

func cardAdvice(name string) string {
	var all []string
	for _, c := range cards {
		all = append(all, c.Card)
	}
	if near := nearest(name, all); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(all, ", ")
}

// context is what a CUDA context takes outside of the allocator where the table does not say better.
const context = 480 * parser.MiB

// sized is a card of which only the size is known: all of it is there.
func sized(bytes int64) GPU {
	return GPU{Size: bytes, Total: bytes, Context: context, Source: "the size given"}
}

var cards = []GPU{
	{Card: "RTX 5080", Size: 16 * parser.GiB, Total: 16303 * parser.MiB, Context: context, Source: "nvidia-smi"},
}

// DefaultCosts are those of a scenario that says nothing.
func DefaultCosts() Costs {
	return Costs{Malloc: 0.0005, Free: 0.0005, Synchronize: 0.001, Load: 0.5}
}
