package scenario_test

import (
	"errors"
	"math"
	"testing"

	"vramsoak/pipeline/scenario"
)

var vars = scenario.Vars{
	Seconds: 95, Items: 4, Batch: 2, Pass: 1, File: 3, Files: 10,
	Total: 16 << 30, Free: 12 << 30, Seed: 7,
}

func TestExpr(t *testing.T) {
	for text, want := range map[string]float64{
		"4": 4, "0.5": 0.5, "1.5GiB": 1.5 * (1 << 30), "64 MiB": 64 << 20,
		"ceil(seconds/30)":                  4,
		"seconds % 30":                      5,
		"seconds * 16000 * 4":               95 * 16000 * 4,
		"min(32, floor(total / 4 / GiB))":   4,
		"max(1, items - 10)":                1,
		"seconds > 60 ? 2 : 8":              2,
		"file == files ? 1 : 0":             0,
		"2 ** 40 * 2 ** 40":                 math.Pow(2, 80),  // no overflow
		"9007199254740992 + 1":              9007199254740992, // the precision of float64
		"free - 0.5*GiB":                    11.5 * (1 << 30),
		"round(abs(-2.6))":                  3,
		"random(5, 5)":                      5,
		"batch * pass * (items + KiB) // 1": 2 * (4 + 1024), // "//" begins a comment
	} {
		e, err := scenario.ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := e.Eval(vars); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestExprRefused: expressions compute with numbers only. Loops, texts, infinities and NaN are
// refused.
func TestExprRefused(t *testing.T) {
	for _, text := range []string{
		"", "inf", "NaN", `"a"`, "seconds >", "seconds > 3", "map(1..9, # * 2)", "len(items)",
		"now()", "sum([1, 2])", "let x = 1; y",
		"repeat('a', 1000000000)", "items.foo", "seconds ?? 1 ?? foo", "1/0", "unknown + 1",
		"8 parsecs", "seconds in 1..1000000000 ? 1 : 2", "sum(1..1000000, #)", "[1][0]",
	} {
		_, err := scenario.ParseExpr(text)
		if _, ok := errors.AsType[*scenario.ExprError](err); !ok {
			t.Errorf("%s: got %v, want an error with its position", text, err)
		}
	}
}

// TestExprRandom: random always draws the same number for the same expression, file and seed. For
// another expression, file or seed it draws other numbers.
func TestExprRandom(t *testing.T) {
	s := mustRead(t, `stages: [{name: A, seconds: "random(1, 9)", item_seconds: "random(1, 9)"}]`)
	draw := func(e scenario.Expr, v scenario.Vars) float64 {
		f, err := e.Eval(v)
		if err != nil || f < 1 || f > 9 {
			t.Fatalf("got %v, %v", f, err)
		}
		return f
	}
	a := s.Stages[0].Seconds
	first := draw(a, vars)
	other := vars
	other.File++
	seeded := vars
	seeded.Seed++
	if draw(a, vars) != first || draw(a, other) == first || draw(a, seeded) == first ||
		draw(s.Stages[0].ItemSeconds, vars) == first {
		t.Error("the draws do not depend on the seed, the file and the expression")
	}
}

func TestFilesLength(t *testing.T) {
	f := scenario.Files{Count: 100, Low: 60, High: 600, Seed: 7}
	sum := 0.0
	for i := 1; i <= 1000; i++ {
		n := f.Length(i)
		if n < 60 || n >= 600 || n != f.Length(i) {
			t.Fatalf("file %d: %v s", i, n)
		}
		sum += n
	}
	// The mean of 1,000 draws from 60-600 is 330 s with a standard error of 540/sqrt(12*1000) = 4.9 s.
	// The limit is five standard errors.
	if math.Abs(sum/1000-330) > 25 {
		t.Errorf("got a mean of %v s, want 330 +- 25", sum/1000)
	}
}

// TestEstimate: Whisper large-v3 in float16 has 3,086,981,120 bytes on the GPU, which package
// models derives from the published sizes.
func TestEstimate(t *testing.T) {
	s := mustRead(t,
		`models: [{id: asr, model: whisper-large-v3}, {id: own, weights: 1GiB, resident: true}]
stages:
  - name: A
    models: [asr, own]
    items: 10
    batch: 4
    item_seconds: 30
    tensors:
      - {name: each, size: 1GiB, each: pass}
      - {name: kept, size: 1GiB, each: pass, until: stage}
      - {name: two, size: 1GiB, count: 2}
`)
	got, err := s.Estimate(s.Stage("A"), 300)
	// Three passes keep one tensor each, one tensor lives for a pass, and two tensors live for the
	// stage. The activations take additional memory.
	least := int64(3086981120 + (1+3+2)<<30)
	if err != nil || got < least || got > least+4<<30 {
		t.Errorf("got %d, %v, want %d and activations", got, err, least)
	}
}

func BenchmarkEval(b *testing.B) {
	e, err := scenario.ParseExpr("ceil(seconds / 30) * min(4, batch) + random(0, 1)")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Eval(vars); err != nil {
			b.Fatal(err)
		}
	}
}
