package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vramsoak/parser/lex"
	"vramsoak/parser/record"
	"vramsoak/parser/strictyaml"
)

// Card returns a card by its name ("RTX 5080", "NVIDIA GeForce RTX 5080", "rtx5080", "5080") or by
// a size ("16GiB").
func Card(name string) (GPU, error) {
	if size, err := lex.ParseSize(name); err == nil {
		if unit := strings.TrimLeft(strings.TrimSpace(name), "0123456789."); unit != "" ||
			size.Bytes >= strictyaml.LeastBare {
			if size.Bytes < leastCard {
				return GPU{}, fmt.Errorf("expected a card of %s or more, found %q; write 16GiB "+
					"or RTX 5080", record.FormatBytes(leastCard), name)
			}
			return sized(size.Bytes), nil
		}
	}
	want := plainName(name)
	for _, tried := range []string{want, "rtx" + want, "gtx" + want, strings.TrimPrefix(want, "rtx")} {
		for _, c := range cards {
			if plainName(c.name) == tried || plainName(c.name+" "+strconv.Itoa(c.gib)+
				"GB") == tried {
				return c.gpu(), nil
			}
		}
	}
	return GPU{},
		fmt.Errorf("expected a card such as RTX 5080, or a size such as 16GiB, found %q; %s", name,
			cardAdvice(name))
}

// CardNames returns the names of the cards that [Card] knows.
func CardNames() []string {
	var names []string
	for _, c := range cards {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// leastCard is the smallest size that Card accepts. No card that runs models is smaller.
const leastCard = 64 * record.MiB

// sized returns a card without a name that has this many bytes of memory.
func sized(bytes int64) GPU {
	return GPU{Size: bytes, Total: bytes, Context: contextOf(bytes), Source: "the size given"}
}

// Replaced returns the card `by` with two values of g: the memory that other processes hold and, if
// the scenario file gives it, the size of the context.
func (g GPU) Replaced(by GPU) GPU {
	by.Occupied = g.Occupied
	if g.OwnContext {
		by.Context, by.OwnContext = g.Context, true
	}
	return by
}

// The size of a CUDA context: the memory that a process holds outside of PyTorch's allocator once
// its kernels are loaded. It is computed from PyTorch's own messages. "this process has 14.56 GiB
// memory in use. Of the allocated memory 13.86 GiB is allocated by PyTorch, and 213.20 MiB is
// reserved" leaves 504 MiB on an RTX 4090. This is the largest context on cards below 32 GB: other
// messages give 348, 349 and 389 MiB, or 222 MiB before the first kernel. "94.50 GiB ... 85.16 GiB
// ... 8.66 GiB" leaves 696 MiB, the largest context on larger cards; an RTX 5090 has 594 MiB. The
// constants are the largest values, so that a batch that fits in the simulation also fits on the
// card.
const (
	smallContext = 504 * record.MiB
	largeContext = 696 * record.MiB
	largeCard    = 30 * record.GiB
)

func contextOf(total int64) int64 {
	if total < largeCard {
		return smallContext
	}
	return largeContext
}

// A card is an entry of the table cards: the name and the sizes of a GPU.
type card struct {
	name string
	gib  int    // the size in its data sheet
	mib  int64  // total that CUDA reports
	from string // source of mib: a printed text, or a card with the same memory
}

// cards has for each card the total that torch.cuda.get_device_properties reports on Linux. yolo
// prints this number too: "CUDA:0 (NVIDIA GeForce RTX 5080, 15840MiB)". nvidia-smi's total
// (16303MiB) is larger, because it includes memory that the driver keeps. Newer drivers keep more,
// so the table has the smallest of several reports. On Windows CUDA reports nearly all of
// nvidia-smi's total.
var cards = []card{
	{"GTX 1080", 8, 8117, "nvidia-smi: GeForce GTX 1080, 8117MiB; torch 1.7: 8119.1875MB"},
	{"GTX 1080 Ti", 11, 11169, "torch 2.5: GTX 1080 Ti, 11169MiB (11,178 with older drivers)"},
	{"RTX 2060 SUPER", 8, 7974, "torch: total_memory=7974MB"},
	{"RTX 2080 Ti", 11, 10825, "torch 2.6: RTX 2080 Ti, 10825MiB (11,020 with older drivers)"},
	{"RTX 3050", 8, 7833, "as RTX 3060 Ti, whose nvidia-smi total is the same 8192 MiB"},
	{"RTX 3060", 12, 11931, "torch: total_memory=11931MB (12,044 with older drivers)"},
	{"RTX 3060 Ti", 8, 7833, "torch 2.11: RTX 3060 Ti, 7833MiB"},
	{"RTX 3070", 8, 7753, "torch 2.6: RTX 3070, 7753MiB"},
	{"RTX 3070 Ti", 8, 7753, "as RTX 3070, whose nvidia-smi total is the same 8192 MiB"},
	{"RTX 3080", 10, 10002, "torch 2.6: RTX 3080, 10002MiB"},
	{"RTX 3080 Ti", 12, 11931, "as RTX 3060, whose nvidia-smi total is the same 12288 MiB"},
	{"RTX 3090", 24, 24124, "torch 2.13: RTX 3090, 24124MiB (24,268 with older drivers)"},
	{"RTX 3090 Ti", 24, 24124, "as RTX 3090"},
	{"RTX 4060", 8, 7807, "torch 2.5: RTX 4060, 7807MiB"},
	{"RTX 4060 Ti", 8, 7807, "as RTX 4060, whose nvidia-smi total is the same 8188 MiB"},
	{"RTX 4060 Ti 16GB", 16, 15934, "as RTX 4070 Ti SUPER, whose nvidia-smi total is 4 MiB less"},
	{"RTX 4070", 12, 11994, "torch 1.13: RTX 4070, 11994MiB"},
	{"RTX 4070 SUPER", 12, 11994, "as RTX 4070"},
	{"RTX 4070 Ti", 12, 11994, "as RTX 4070"},
	{"RTX 4070 Ti SUPER", 16, 15934, "torch: total_memory=15934MB"},
	{"RTX 4080", 16, 15944, "as RTX 4080 SUPER (16,049 with older drivers)"},
	{"RTX 4080 SUPER", 16, 15944, "torch 2.12: RTX 4080 SUPER, 15944MiB"},
	{"RTX 4090", 24, 24081, "torch 2.5: RTX 4090, 24081MiB (24,217 with older drivers)"},
	{
		"RTX 5060", 8, 7689,
		"nvidia-smi's 8151 MiB less the 462 MiB that the driver keeps of an RTX 5080",
	},
	{"RTX 5060 Ti", 16, 15841, "torch: RTX 5060 Ti, total_memory=15841MB"},
	{
		"RTX 5070", 12, 11765,
		"nvidia-smi's 12227 MiB less the 462 MiB that the driver keeps of an RTX 5080",
	},
	{"RTX 5070 Ti", 16, 15840, "as RTX 5080, whose nvidia-smi total is the same 16303 MiB"},
	{"RTX 5080", 16, 15840, "torch: RTX 5080, 15840MiB; PyTorch: a total capacity of 15.47 GiB; " +
		"nvidia-smi: 16303MiB"},
	{"RTX 5090", 32, 32102, "torch 2.12: RTX 5090, 32102MiB; PyTorch: a total capacity of 31.36 " +
		"GiB; nvidia-smi: 32607MiB"},
	{"RTX A2000 12GB", 12, 12017, "torch 2.1: RTX A2000 12GB, 12017MiB"},
	{"RTX A4000", 16, 16117, "torch 1.12: RTX A4000, 16117MiB"},
	{"RTX A5000", 24, 24114, "torch: total_memory=24114MB"},
	{"RTX A6000", 48, 48497, "as RTX 6000 Ada (48,676 with older drivers)"},
	{"RTX 6000 Ada", 48, 48497, "torch 2.7: RTX 6000 Ada Generation, 48497MiB"},
	{"K80", 12, 11441, "torch 1.10: Tesla K80, 11441MiB, which is one of the card's two halves"},
	{"P100", 16, 16281, "torch 2.0: Tesla P100-PCIE-16GB, 16281MiB"},
	{"T4", 16, 14930, "torch: Tesla T4, total_memory=14930MB; nvidia-smi: 15360MiB"},
	{"L4", 24, 22563, "torch 2.11: NVIDIA L4, 22563MiB"},
	{"A10", 24, 22587, "as A10G"},
	{"A10G", 24, 22587, "torch: NVIDIA A10G, total_memory=22587MB"},
	{"A40", 48, 45589, "as L40S, whose nvidia-smi total is the same 46068 MiB"},
	{"L40", 48, 45589, "as L40S"},
	{"L40S", 48, 45589, "torch: NVIDIA L40S, total_memory=45589MB"},
	{"V100 16GB", 16, 16130, "torch: Tesla V100-SXM2-16GB, total_memory=16130MB"},
	{"V100 32GB", 32, 32510, "PyTorch: 31.75 GiB total capacity; nvidia-smi: 32510MiB"},
	{"A100 40GB", 40, 40326, "torch: NVIDIA A100-PCIE-40GB, total_memory=40326MB"},
	{"A100 80GB", 80, 81050, "torch: total= 81050mb beside nvidia-smi's 81920MiB"},
	{"H100", 80, 81008, "torch: NVIDIA H100 PCIe, total_memory=81008MB (H100 80GB HBM3: 81,082); " +
		"nvidia-smi: 81559MiB"},
	{"H100 NVL", 94, 95320, "torch 2.13: NVIDIA H100 NVL, 95320MiB"},
	{"H20", 96, 97285, "torch: NVIDIA H20, total_memory=97285MB"},
	{"H200", 141, 143156, "torch: NVIDIA H200, total_memory=143156MB"},
}

func (c card) gpu() GPU {
	total := c.mib * record.MiB
	return GPU{
		Card: c.name, Size: int64(c.gib) * record.GiB, Total: total, Context: contextOf(total),
		Source: c.from,
	}
}

// unsaid matches the parts of the names of cards that people leave out: "NVIDIA GeForce" of "NVIDIA
// GeForce RTX 5080", or "SXM4" of "A100-SXM4-80GB".
var unsaid = regexp.MustCompile(`nvidia|geforce|tesla|quadro|generation|pcie|sxm\d?|hbm\d?|[ _-]`)

func plainName(name string) string { return unsaid.ReplaceAllString(strings.ToLower(name), "") }

// cardAdvice returns advice for an unknown card: the cards with a similar name, or where to find
// all of them.
func cardAdvice(name string) string {
	if n, err := strconv.ParseFloat(name, 64); err == nil && n >= 1 && n <= 1024 {
		return fmt.Sprintf("did you mean %sGiB?", name)
	}
	want := plainName(name)
	var near, all, plain []string
	for _, c := range cards {
		p := plainName(c.name)
		if len(want) > 1 && strings.HasPrefix(p, want) {
			near = append(near, c.name)
		}
		all, plain = append(all, c.name), append(plain, p)
	}
	if len(near) == 0 && len(want) > 1 {
		for _, tried := range []string{want, "rtx" + want, "gtx" + want} {
			if n := strictyaml.Nearest(tried, plain); n != "" && len(near) == 0 {
				near = append(near, all[slices.Index(plain, n)])
			}
		}
	}
	if len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
	}
	return "docs/reference/cards-and-models.md has the cards that are known; or give a size"
}
