package merge

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"vramsoak/harness/check"
	"vramsoak/harness/shard"
	"vramsoak/parser"
	"vramsoak/parser/record"
)

// A Run is a run of many shards that belong together.
type Run struct {
	// Start is the first line of the first shard. What all shards must agree on is in it.
	Start record.RunStart
	// Measures asks for what the run measured, file by file: see [Judged.ByShard].
	Measures bool
	shards   []opened // those that have a log, by their number
}

// An opened is a shard whose first line was read.
type opened struct {
	Shard
	start record.RunStart
	is    identity
}

// An identity is what all shards of a run must agree on.
type identity struct {
	batch, version, run string
	shards, of          int
	policy              [sha256.Size]byte
}

func identityOf(s *record.RunStart) identity {
	return identity{s.Batch, s.Version, s.Run, s.Shards, s.Of, sha256.Sum256([]byte(s.Policy))}
}

// Open reads the first lines of the shards' logs. It returns an error that names each shard that is
// not of the same run as most others: of another batch, number of shards, name, version or, unless
// anyPolicy is set, policy. A shard that is given twice counts once if both logs have the same
// bytes.
func Open(shards []Shard, anyPolicy bool) (*Run, error) {
	heads := make([]opened, len(shards))
	errs := make([]error, len(shards))
	each(len(shards), func(i int) {
		heads[i].Shard = shards[i]
		errs[i] = heads[i].readHead(anyPolicy)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, shortened(errs)
	}
	heads = slices.DeleteFunc(heads, func(o opened) bool { return o.start.Shards == 0 })
	if len(heads) == 0 {
		return nil, fmt.Errorf("%s: expected a shard with a log, found none of %s; no task "+
			"has started, or none has written its first line", shards[0].Name,
			check.Plural(len(shards), "shard"))
	}
	if err := differ(heads); err != nil {
		return nil, err
	}
	slices.SortStableFunc(heads, func(a, b opened) int {
		return cmp.Compare(a.start.Shard, b.start.Shard)
	})
	heads, err := once(heads)
	if err != nil {
		return nil, err
	}
	return &Run{Start: heads[0].start, shards: heads}, nil
}

// each calls do for the numbers from 0 to n-1, several at a time.
func each(n int, do func(i int)) {
	var workers sync.WaitGroup
	numbers := make(chan int)
	for range min(n, 2*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// errorsMost is how many errors are listed.
const errorsMost = 10

// shortened joins the errors, at most errorsMost of them.
func shortened(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if more := len(errs) - errorsMost; more > 0 {
		errs = append(errs[:errorsMost:errorsMost], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// headMax is the longest first line of a log in bytes. It holds the policy file.
const headMax = 1 << 20

// readHead reads the first line of each log of the shard. A log without a whole line counts as
// missing.
func (o *opened) readHead(anyPolicy bool) error {
	o.Logs = slices.Clone(o.Logs)
	for i := 0; i < len(o.Logs); {
		start, err := firstLine(o.Logs[i])
		if err != nil {
			return err
		}
		if start == nil {
			o.Logs = slices.Delete(o.Logs, i, i+1)
			continue
		}
		if start.Shards == 0 || start.Shard < 1 || start.Shard > start.Shards ||
			start.Shards > shard.Max {
			return fmt.Errorf("%s: expected the log of a shard, whose first line says which "+
				"shard it is (shard=3 shards=8); found the log of a run without "+
				"shards", o.Logs[i].Name)
		}
		if anyPolicy {
			start.Policy = ""
		}
		if is := identityOf(start); i == 0 {
			o.start, o.is = *start, is
		} else if is != o.is || start.Shard != o.start.Shard {
			return fmt.Errorf("%s and %s: expected logs of one shard, found different ones",
				o.Logs[0].Name, o.Logs[i].Name)
		}
		i++
	}
	return nil
}

// firstLine returns the record of a log's first line. It returns nil if the log does not have a
// whole line yet.
func firstLine(l Log) (*record.RunStart, error) {
	log, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // only read
	head := make([]byte, 0, 4<<10)
	for len(head) < headMax && bytes.IndexByte(head, '\n') < 0 {
		head = slices.Grow(head, max(1, len(head)))
		n, err := log.Read(head[len(head):cap(head)])
		if head = head[:len(head)+n]; errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading %s: %w", l.Name, err)
		}
	}
	end := bytes.IndexByte(head, '\n')
	if end < 0 && len(head) < headMax {
		return nil, nil
	}
	at := record.Position{Path: l.Name, Line: 1}
	for _, rec := range parser.OwnLines().ParseLine(head[:max(0, end)], at) {
		if start, ok := rec.(record.RunStart); ok {
			return &start, nil
		}
	}
	return nil, fmt.Errorf("%s: expected the log of a shard, as vramsoak soak --shard writes it, "+
		"whose first line is %q; found another one", l.Name, record.HarnessPrefix+" run-start ...")
}

// differ returns an error that names the shards which are not of the same run as most others.
func differ(heads []opened) error {
	count := map[identity]int{}
	for i := range heads {
		count[heads[i].is]++
	}
	if len(count) == 1 {
		return nil
	}
	most := heads[0]
	for i := range heads {
		if count[heads[i].is] > count[most.is] {
			most = heads[i]
		}
	}
	var errs []error
	for i := range heads {
		if h := &heads[i]; h.is != most.is {
			errs = append(errs, fmt.Errorf("%s: %s; judge it with the shards of its own run",
				h.Name, h.differs(&most)))
		}
	}
	return shortened(errs)
}

// differs says in what a shard differs from another one, which stands for most.
func (o *opened) differs(most *opened) string {
	const expected = "expected a shard of the same run as "
	a, b := &o.start, &most.start
	switch {
	case a.Shards != b.Shards:
		return fmt.Sprintf("%s%s, of %d shards; found one of %d", expected, most.Name, b.Shards,
			a.Shards)
	case a.Batch != b.Batch || a.Of != b.Of:
		return fmt.Sprintf("%s%s, of the batch %s with %s; found one of the batch %s with %s",
			expected, most.Name, b.Batch, check.Plural(b.Of, "file"), a.Batch,
			check.Plural(a.Of, "file"))
	case a.Run != b.Run:
		return fmt.Sprintf("%s%s, with the name %q; found one of the run %q", expected, most.Name,
			b.Run, a.Run)
	case a.Version != b.Version:
		return fmt.Sprintf("%s%s, by version %s of vramsoak; found version %s", expected, most.Name,
			b.Version, a.Version)
	}
	return fmt.Sprintf("%s%s, with the same policy; found another policy (--policy gives the one "+
		"to judge all by)", expected, most.Name)
}

// once returns the shards, sorted by their number, without those that are there again with the same
// bytes.
func once(all []opened) ([]opened, error) {
	var errs []error
	kept := all[:0:0]
	for i := range all {
		if i == 0 || all[i].start.Shard != all[i-1].start.Shard {
			kept = append(kept, all[i])
			continue
		}
		first := kept[len(kept)-1]
		same, err := sameLogs(first.Logs, all[i].Logs)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !same:
			errs = append(errs, fmt.Errorf("%s and %s: expected each shard once, found two "+
				"different logs of shard %d; give the one that counts", first.Name, all[i].Name,
				first.start.Shard))
		}
	}
	return kept, shortened(errs)
}

// sameLogs reports whether two shards have logs with the same bytes.
func sameLogs(a, b []Log) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		x, err := digest(a[i])
		if err != nil {
			return false, err
		}
		y, err := digest(b[i])
		if err != nil || x != y {
			return false, err
		}
	}
	return true, nil
}

func digest(l Log) (sum [sha256.Size]byte, err error) {
	log, err := l.Open()
	if err != nil {
		return sum, err
	}
	defer func() { _ = log.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, log); err != nil {
		return sum, fmt.Errorf("reading %s: %w", l.Name, err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
