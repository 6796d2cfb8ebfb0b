package bucket

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"os"
	"path"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"gocloud.dev/blob"
)

// leaseField is the field of an object's metadata that says which lease wrote it.
const leaseField = "lease"

// PutFile stores a file of the shard that the lease is for, such as "verdict.json", and replaces
// what an earlier lease stored. It never replaces what a later lease stored: it writes only if the
// object is still the one that it looked at before it saw that its own lease is the highest
// (If-Match). If the lease is not the highest, the error wraps [ErrTakenOver].
func (s *Store) PutFile(ctx context.Context, lease Lease, name, path string) error {
	key := lease.Shard + "/" + name
	refused := false // as a key that exists, although there is no object
	for range putTries {
		match, err := s.replaceable(ctx, lease, key)
		if err != nil {
			return err
		}
		err = s.try(ctx, "writing", key, func(ctx context.Context) error {
			return s.putFile(ctx, key, path, &blob.WriterOptions{
				ContentType: contentType(name), IfNotExist: match == "" && !refused,
				Metadata:    map[string]string{leaseField: strconv.Itoa(lease.Number)},
				BeforeWrite: ifMatch(match),
			})
		})
		if !exists(err) {
			return err
		}
		refused = match == ""
	}
	return fmt.Errorf("%s: another task writes it all the time", s.address(key))
}

// putTries is how often PutFile looks again at what it replaces. Only a task that was taken over,
// or a write whose answer was lost, can get in between. A server that is killed in the middle of a
// write may go on to refuse If-None-Match although it has no object (versitygw 1.8.0 does): the
// second write is then without a condition.
const putTries = 5

// replaceable returns the ETag of the object at a key, or "" if there is none. It returns an error
// unless the lease is the shard's highest.
func (s *Store) replaceable(ctx context.Context, lease Lease, key string) (etag string, err error) {
	err = s.try(ctx, "looking for", key, func(ctx context.Context) error {
		found, err := s.bucket.Attributes(ctx, s.key(key))
		switch {
		case notFound(err):
			etag = ""
		case err != nil:
			return err
		default:
			etag = found.ETag
			if by, err := strconv.Atoi(found.Metadata[leaseField]); err == nil && by > lease.Number {
				return s.tookOver(ctx, lease, by)
			}
		}
		return s.Holds(ctx, lease)
	})
	return etag, err
}

// ifMatch returns the function that makes a write depend on the object that it replaces.
func ifMatch(etag string) func(func(any) bool) error {
	if etag == "" {
		return nil
	}
	return func(as func(any) bool) error {
		var in *transfermanager.UploadObjectInput
		if as(&in) {
			in.IfMatch = &etag
		}
		return nil
	}
}

func (s *Store) putFile(ctx context.Context, key, path string, opts *blob.WriterOptions) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	return s.bucket.Upload(ctx, s.key(key), f, opts)
}

// PutOnce stores the content of a key, unless the key exists, and returns the content that the key
// has then. The tasks of a run write its run.json this way: the first one wins.
func (s *Store) PutOnce(ctx context.Context, key string, text []byte) (found []byte, err error) {
	err = s.putOnce(ctx, key, text, true)
	if err == nil || !exists(err) {
		return text, err
	}
	found, err = s.Get(ctx, key, fileMax)
	if errors.Is(err, os.ErrNotExist) { // see putTries
		return text, s.putOnce(ctx, key, text, false)
	}
	return found, err
}

func (s *Store) putOnce(ctx context.Context, key string, text []byte, ifNotExist bool) error {
	return s.try(ctx, "writing", key, func(ctx context.Context) error {
		return s.bucket.WriteAll(ctx, s.key(key), text, &blob.WriterOptions{
			ContentType: contentType(key), IfNotExist: ifNotExist,
		})
	})
}

// contentType returns the type that a browser needs to show a file.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".json", ".jsonl":
		return "application/json"
	case ".log", ".md":
		return "text/plain; charset=utf-8"
	default:
		if known := mime.TypeByExtension(ext); known != "" {
			return known
		}
	}
	return "application/octet-stream"
}
