package simulator_test

import (
	"bytes"
	"strings"
	"testing"

	"vramsoak/pipeline/scenario"
	"vramsoak/pipeline/simulator"
)

// run runs a scenario and is its log and outcome.
func run(t *testing.T, src string, o simulator.Options) (string, *simulator.Outcome) {
	t.Helper()
	s, err := scenario.Read([]byte(src), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.Log = &log
	outcome, err := simulator.Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return log.String(), outcome
}

// A model of 40 MiB that is loaded for each file, on a card of 100 MiB, and freed by a cleanup.
const small = `
gpu: {total: 100MiB, context: 0}
files: {count: 3, seconds: 60}
models: [{id: asr, weights: 40MiB}]
stages:
  - name: Transcription
    models: [asr]
    seconds: 5
    cleanups: [{name: Whisper, frees: [asr], empty_cache: true}]
`

// On a device without limit a stage comes to what it needs, and the expressions of the file still go by the card.
func TestUnlimited(t *testing.T) {
	const src = `
gpu: {total: 100MiB, context: 0}
files: {count: 2, seconds: 60}
stages:
  - {name: First, tensors: [{name: most, size: total, each: stage}, {name: more, size: free + 20*MiB, each: stage}]}
  - {name: Nothing}
`
	_, o := run(t, src, simulator.Options{})
	if o.Failed != 2 || !o.Stages[0].Reached || o.Stages[1].Reached {
		t.Errorf("on the card: got %d failed, stages %+v", o.Failed, o.Stages)
	}
	_, o = run(t, src, simulator.Options{Unlimited: true})
	if o.Failed != 0 || o.Stages[0].Allocated != 220<<20 {
		t.Errorf("without limit: got %d failed, %d allocated, want none and %d", o.Failed, o.Stages[0].Allocated, 220<<20)
	}
	if s := o.Stages[1]; !s.Reached || s.File != 1 || s.Allocated != 0 {
		t.Errorf("a stage that takes nothing: %+v", s)
	}
}

func TestCheckpoints(t *testing.T) {
	log, o := run(t, small, simulator.Options{Files: 1})
	var names []string
	for line := range strings.Lines(log) {
		if _, rest, ok := strings.Cut(line, "[GPU Memory] "); ok {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	want := "Before Transcription, Before Whisper Cleanup, After Whisper Cleanup, After Transcription (post-cleanup)"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("checkpoints: got %s, want %s", got, want)
	}
	if !strings.Contains(log, " holds=41943040 ") {
		t.Errorf("expected holds=41943040 at the cleanup, got\n%s", log)
	}
	if o.Failed != 0 || o.Peak.Allocated != 40<<20 {
		t.Errorf("got %d failed, peak %d, want none and 41943040", o.Failed, o.Peak.Allocated)
	}
}
