package bucket

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gocloud.dev/blob"

	"vramsoak/harness/shard"
)

// A Lease is the right of one task to work on a shard, until another task takes a higher lease.
type Lease struct {
	Shard string `json:"-"` // the shard's folder: "shard-0003"
	shard.LeaseInfo
}

// leaseMax is the largest lease that is read, in bytes.
const leaseMax = 64 << 10

func leaseKey(folder string, n int) string { return folder + "/" + shard.LeaseName(n) }

// TakeLease takes the next lease of a shard, such as "shard-0003", for a task on a node. If several
// tasks take a lease at the same time, each gets another number, and only the one with the highest
// may go on: see [Store.Holds].
func (s *Store) TakeLease(ctx context.Context, folder, node string) (Lease, error) {
	lease := Lease{folder, shard.NewLeaseInfo(0, node, time.Now())}
	highest, err := s.highestLease(ctx, folder)
	for err == nil {
		lease.Number = highest + 1
		var won bool
		if won, err = s.takeNumber(ctx, lease); won {
			return lease, s.refusesSecond(ctx, lease)
		}
		highest++
	}
	return Lease{}, err
}

// takeNumber writes a lease. It reports false if the number is taken. That may be by a write of
// this task whose answer was lost: the task then takes the next number, as any task may.
func (s *Store) takeNumber(ctx context.Context, lease Lease) (won bool, err error) {
	text, err := json.Marshal(lease)
	if err != nil {
		return false, err
	}
	key := leaseKey(lease.Shard, lease.Number)
	err = s.try(ctx, "taking the lease", key, func(ctx context.Context) error {
		return s.bucket.WriteAll(ctx, s.key(key), text, &blob.WriterOptions{
			ContentType: "application/json", IfNotExist: true,
		})
	})
	if exists(err) {
		return false, nil
	}
	return err == nil, err
}

// refusesSecond returns an error unless the store refuses to write a lease again. There are stores
// that ignore If-None-Match, and two tasks would then have the same lease.
func (s *Store) refusesSecond(ctx context.Context, lease Lease) error {
	again, err := s.takeNumber(ctx, lease)
	if again {
		err = fmt.Errorf("%v: expected a store that refuses to write a key that exists "+
			"(If-None-Match), found one that ignores it; two tasks could then write the same log: use "+
			"another store", s)
	}
	return err
}

// readLease returns a lease of a shard.
func (s *Store) readLease(ctx context.Context, folder string, n int) (Lease, error) {
	key := leaseKey(folder, n)
	text, err := s.Get(ctx, key, leaseMax)
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Shard: folder}
	if err := json.Unmarshal(text, &lease); err != nil {
		return Lease{}, fmt.Errorf("%s: expected a lease that vramsoak soak wrote: %w",
			s.address(key), err)
	}
	return lease, nil
}

// Holds returns an error that wraps [ErrTakenOver] if the lease is not the highest of its shard any
// more. It makes one request and does not repeat it.
func (s *Store) Holds(ctx context.Context, lease Lease) error {
	next := leaseKey(lease.Shard, lease.Number+1)
	taken, err := s.bucket.Exists(ctx, s.key(next))
	if err != nil {
		return s.fail("looking for", next, err)
	}
	if taken {
		return s.tookOver(ctx, lease, lease.Number+1)
	}
	return nil
}

// tookOver returns the error for a task whose shard another task has. It reads the other's lease,
// because the answer of something between this machine and the store must not end the task.
func (s *Store) tookOver(ctx context.Context, lease Lease, by int) error {
	next, err := s.readLease(ctx, lease.Shard, by)
	if err != nil {
		return err
	}
	return next.TakenOver(lease.Number)
}

// highestLease returns the number of a shard's highest lease, or 0 if nobody took it yet.
func (s *Store) highestLease(ctx context.Context, folder string) (highest int, err error) {
	err = s.list(ctx, folder+"/"+shard.LeasePrefix, func(o *blob.ListObject) {
		highest = max(highest, shard.LeaseNumber(strings.TrimPrefix(o.Key, s.key(folder+"/"))))
	})
	return highest, err
}

// list calls each for the objects whose keys begin with a prefix.
func (s *Store) list(ctx context.Context, prefix string, each func(*blob.ListObject)) error {
	token := blob.FirstPageToken
	for len(token) > 0 {
		var page []*blob.ListObject
		var next []byte
		err := s.try(ctx, "listing", prefix, func(ctx context.Context) (err error) {
			page, next, err = s.bucket.ListPage(ctx, token, pageSize,
				&blob.ListOptions{Prefix: s.key(prefix)})
			return err
		})
		if err != nil {
			return err
		}
		for _, o := range page {
			each(o)
		}
		token = next
	}
	return nil
}

// pageSize is how many keys one request lists: the most that S3 gives.
const pageSize = 1000
