package shard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"vramsoak/harness/queue"
)

// A Plan is what all shards of a run must agree on, besides the policy and the version, which their
// logs hold in full.
type Plan struct {
	Files   []queue.Input // one round of the whole batch
	Shards  int
	Repeat  int     // number of rounds
	Shuffle *uint64 // seed; nil for the order of Files
	Until   float64 // seconds; 0 without --until
}

// Digest returns the digest of a plan: 32 hexadecimal digits. Two plans with the same digest give
// the same shares.
func (p Plan) Digest() string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "vramsoak shares 1\n%d %d %g ", p.Shards, p.Repeat, p.Until)
	if p.Shuffle != nil {
		_, _ = fmt.Fprintf(h, "%d", *p.Shuffle)
	}
	for _, f := range p.Files {
		_, _ = fmt.Fprintf(h, "\n%d %q", Milliseconds(f.AudioSeconds), f.Path)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
