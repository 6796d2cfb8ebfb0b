package dialect

import (
	"testing"

	"vramsoak/parser/dialect/dialecttest"
)

// TestSeeMemoryUsageWithBars: bars and GiB between the readings of see_memory_usage are read as
// blanks and GB are.
func TestSeeMemoryUsageWithBars(t *testing.T) {
	dialecttest.Run(t, BuiltIn(), []dialecttest.Case{
		{"bars", `
[INFO] [utils.py:800:see_memory_usage] After engine
[INFO] [utils.py:801:see_memory_usage] MA 3.5 GiB | Max_MA 3.75 GiB | CA 4.0 GiB | Max_CA 4 GiB
`, `
2 checkpoint "After engine" allocated=3584MiB reserved=4096MiB peak=3840MiB peak_reserved=4096MiB
`},
		{"no blanks around the bars", `
MA 3.5 GB|Max_MA 3.75 GB|CA 4 GB|Max_CA 4.25 GB | 
`, `
1 checkpoint "see_memory_usage" allocated=3584MiB reserved=4096MiB peak=3840MiB peak_reserved=4352MiB
`},
		{"a line that was cut", `
MA 3.5 GiB | Max_MA 3.75 GiB | CA 4.
`, `
1 unreadable: expected a size such as 1.69 GB after "CA", found "CA 4."
`},
		{"near misses", `
print(f"MA {a} GiB | Max_MA {b} GiB | CA {c} GiB")
GAMMA | Max_MA 3.75 GiB | CA 1 GiB
`, ``},
	})
}
