package scenario

import (
	"slices"

	"vramsoak/parser/record"
)

// Cards returns all cards that are known by name, smallest first.
func Cards() []GPU {
	all := make([]GPU, len(cards))
	for i, c := range cards {
		all[i] = c.gpu()
	}
	slices.SortStableFunc(all, func(a, b GPU) int { return int((a.Size - b.Size) / record.MiB) })
	return all
}
