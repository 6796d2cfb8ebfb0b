package history_test

import (
	"testing"
	"time"

	"vramsoak/harness/check"
	"vramsoak/harness/history"
	"vramsoak/harness/waiver"
)

// TestAcceptUntil accepts a regression up to a day. It fails again in the first run of a later day,
// with or without newer runs, until a person accepts it again.
func TestAcceptUntil(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		for n := range 46 {
			level := 500.0 + float64(n%2)
			if n >= 40 {
				level = 600
			}
			add(t, s, night(n, level, level-10, level-20))
		}
		load := func(night int) *history.History {
			t.Helper()
			h, err := s.Load(t.Context(), "nightly")
			if err != nil {
				t.Fatal(err)
			}
			if h, err = h.Until(h.Runs[night].ID); err != nil {
				t.Fatal(err)
			}
			return h
		}
		accept := func(night int, w waiver.Waiver) {
			t.Helper()
			h := load(night)
			all := h.Gate(policy).Acceptances(h, h.Runs[night].Started, w)
			if len(all) != 1 {
				t.Fatalf("night %d: expected one regression to accept, found %+v", night, all)
			}
			if err := s.Accept(t.Context(), all); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(night int, want check.Verdict, known, ended int, w waiver.Waiver) {
			t.Helper()
			o := load(night).Gate(policy)
			if o.Verdict != want || len(o.New) > 0 || len(o.Known) != known || len(o.Ended) != ended {
				t.Fatalf("night %d: got %+v", night, o)
			}
			for _, k := range append(o.Known, o.Ended...) {
				if k.Waiver != w || k.Bad != 40 {
					t.Errorf("night %d: got %+v, want the waiver %+v", night, k, w)
				}
			}
		}
		day := func(night int) string { return waiver.Day(load(45).Runs[night].Started) }

		short := waiver.Waiver{Reason: "torch 2.4", Until: day(42)}
		accept(40, short)
		expect(40, check.Pass, 1, 0, short)
		expect(42, check.Pass, 1, 0, short)
		expect(43, check.Fail, 0, 1, short)

		longer := waiver.Waiver{Reason: "torch 2.5", Until: day(44)}
		accept(43, longer)
		expect(43, check.Pass, 1, 0, longer)
		expect(44, check.Pass, 1, 0, longer)
		expect(45, check.Fail, 0, 1, longer)

		// An acceptance that ends earlier does not replace one that ends later.
		h := load(45)
		earlier := h.Gate(policy).Acceptances(h, time.Now(), short)
		if err := s.Accept(t.Context(), earlier); err != nil {
			t.Fatal(err)
		}
		expect(44, check.Pass, 1, 0, longer)

		endless := waiver.Waiver{Reason: "a larger model"}
		accept(45, endless)
		expect(45, check.Pass, 1, 0, endless)
		if err := s.Accept(t.Context(), earlier); err != nil {
			t.Fatal(err)
		}
		expect(45, check.Pass, 1, 0, endless)
	})
}

// TestAcceptOneOfTwo accepts a regression. Another one three nights later is not accepted with it,
// although the first bad run of an accepted regression may move as far.
func TestAcceptOneOfTwo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, name string) {
		s := create(t, name)
		for n := range 60 {
			level := 500.0 + float64(n%2)
			if n >= 20 {
				level += 100
			}
			if n >= 23 {
				level += 60
			}
			add(t, s, night(n, level, level-10, level-20))
		}
		h, err := s.Load(t.Context(), "nightly")
		if err != nil {
			t.Fatal(err)
		}
		then, err := h.Until(h.Runs[21].ID)
		if err != nil {
			t.Fatal(err)
		}
		accepted := then.Gate(policy).Acceptances(then, time.Now(), waiver.Waiver{})
		if len(accepted) != 1 {
			t.Fatalf("expected one regression to accept, found %+v", accepted)
		}
		h.Accepted = accepted
		if o := h.Gate(policy); o.Verdict != check.Fail || len(o.Known) != 1 || len(o.New) != 1 {
			t.Errorf("got %s, known %+v, new %+v", o.Verdict, o.Known, o.New)
		}
	})
}
