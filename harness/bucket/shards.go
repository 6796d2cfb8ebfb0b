package bucket

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gocloud.dev/blob"

	"vramsoak/harness/shard"
)

// logName is the name of a log, in a shard or in the folder of a GPU.
const logName = "soak.log"

// shardPrefix begins the names of shards in a run.
const shardPrefix = "shard-"

// A Shard is what a bucket holds of one shard of a run.
type Shard struct {
	Name  string // "shard-0003"
	Lease int    // the highest lease that a task took, or 0
	// Logs are the logs of the shard, in the order of their names. A shard of a task that has not
	// begun has none.
	Logs []Log
	// Files are the names of the other files in the shard: "verdict.json".
	Files []string
}

// A Log is a log in a bucket: the pieces of the highest lease that has a first piece.
type Log struct {
	Key   string // "shard-0003/soak.log"
	Lease int    // of the pieces
	Size  int64  // bytes
	// Older are the logs of the leases before, the latest first. What they hold beyond the beginning
	// that the next lease took over is no evidence.
	Older []Log

	pieces []piece
}

// Name returns the name of the log in its shard: "soak.log" or "gpu-0/soak.log".
func (l Log) Name() string {
	_, name, _ := strings.Cut(l.Key, "/")
	return name
}

// A piece is a stored part of a log.
type piece struct {
	number int   // from 1
	size   int64 // bytes
	md5    []byte
}

func pieceKey(log string, lease, piece int) string {
	return fmt.Sprintf("%s/%06d/%06d", log, lease, piece)
}

// pieceKeys matches the keys of pieces. The name of the log is a path in a folder to which the log
// is copied, so that it must not lead out of there.
var pieceKeys = regexp.MustCompile(
	`^(` + shardPrefix + `\d+/(?:gpu-\d+/)?` + regexp.QuoteMeta(logName) + `)/(\d+)/(\d+)$`)

// pieceOf splits the key of a piece. ok is false for any other key.
func pieceOf(key string) (log string, lease, piece int, ok bool) {
	parts := pieceKeys.FindStringSubmatch(key)
	if parts == nil {
		return "", 0, 0, false
	}
	l, err := strconv.ParseUint(parts[2], 10, 31)
	n, err2 := strconv.ParseUint(parts[3], 10, 31)
	if err != nil || err2 != nil || l == 0 || n == 0 {
		return "", 0, 0, false
	}
	return parts[1], int(l), int(n), true
}

// Shards returns the shards of the run that the store's prefix names, ordered by name. It takes one
// request for each thousand keys.
func (s *Store) Shards(ctx context.Context) ([]Shard, error) {
	c := newCollection()
	if err := s.list(ctx, shardPrefix, func(o *blob.ListObject) {
		c.add(strings.TrimPrefix(o.Key, s.prefix), o)
	}); err != nil {
		return nil, err
	}
	return c.shards()
}

// Shard returns one shard of the run that the store's prefix names. A shard that nobody began has
// no lease and no logs.
func (s *Store) Shard(ctx context.Context, name string) (Shard, error) {
	c := newCollection()
	if err := s.list(ctx, name+"/", func(o *blob.ListObject) {
		c.add(strings.TrimPrefix(o.Key, s.prefix), o)
	}); err != nil {
		return Shard{}, err
	}
	found, err := c.shards()
	if err != nil || len(found) == 0 {
		return Shard{Name: name}, err
	}
	return found[0], nil
}

// pieces returns the pieces of a log that a lease wrote, in their order.
func (s *Store) pieces(ctx context.Context, log string, lease int) ([]piece, error) {
	var found []piece
	err := s.list(ctx, fmt.Sprintf("%s/%06d/", log, lease), func(o *blob.ListObject) {
		if _, _, n, ok := pieceOf(strings.TrimPrefix(o.Key, s.prefix)); ok {
			found = append(found, piece{n, o.Size, o.MD5})
		}
	})
	slices.SortFunc(found, func(a, b piece) int { return cmp.Compare(a.number, b.number) })
	return found, err
}

// A collection sorts the keys of a run into shards. It does not need the keys in any order.
type collection struct {
	byName map[string]*Shard
	// logs holds the pieces by shard, log and lease.
	logs map[string]map[string]map[int][]piece
}

func newCollection() *collection {
	return &collection{
		byName: map[string]*Shard{}, logs: map[string]map[string]map[int][]piece{},
	}
}

// add adds an object. The parameter key is its key below the prefix. Keys that are not those of a
// shard are left out.
func (c *collection) add(key string, o *blob.ListObject) {
	name, rest, _ := strings.Cut(key, "/")
	if _, ok := shard.Of(name); !ok || rest == "" {
		return
	}
	if c.byName[name] == nil {
		c.byName[name] = &Shard{Name: name}
		c.logs[name] = map[string]map[int][]piece{}
	}
	of := c.byName[name]
	log, lease, n, isPiece := pieceOf(key)
	switch {
	case isPiece:
		if c.logs[name][log] == nil {
			c.logs[name][log] = map[int][]piece{}
		}
		c.logs[name][log][lease] = append(c.logs[name][log][lease], piece{n, o.Size, o.MD5})
	case shard.LeaseNumber(rest) > 0:
		of.Lease = max(of.Lease, shard.LeaseNumber(rest))
	default:
		of.Files = append(of.Files, rest)
	}
}

// shards returns the shards. It returns an error for a log that lacks a piece.
func (c *collection) shards() ([]Shard, error) {
	var all []Shard
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		shard := c.byName[name]
		slices.Sort(shard.Files)
		for _, key := range slices.Sorted(maps.Keys(c.logs[name])) {
			log, ok, err := logOf(key, c.logs[name][key])
			if err != nil {
				return nil, err
			}
			if ok {
				shard.Logs = append(shard.Logs, log)
			}
		}
		all = append(all, *shard)
	}
	return all, nil
}

// logOf returns the log whose pieces these are, by lease. ok is false if no lease has a first
// piece: a task was killed before it had stored what it began with.
func logOf(key string, leases map[int][]piece) (log Log, ok bool, err error) {
	var found []Log
	for lease, pieces := range leases {
		slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.number, b.number) })
		if pieces[0].number != 1 {
			continue
		}
		one := Log{Key: key, Lease: lease, pieces: pieces}
		for _, p := range pieces {
			one.Size += p.size
		}
		found = append(found, one)
	}
	if len(found) == 0 {
		return Log{}, false, nil
	}
	slices.SortFunc(found, func(a, b Log) int { return cmp.Compare(b.Lease, a.Lease) })
	log = found[0]
	log.Older = found[1:]
	for i, p := range log.pieces {
		if p.number != i+1 {
			return Log{}, false, fmt.Errorf("%s: expected piece %d of lease %d, found piece %d; "+
				"somebody removed a part of the log", key, i+1, log.Lease, p.number)
		}
	}
	return log, true, nil
}
