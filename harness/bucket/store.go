package bucket

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// A Store is a place in a bucket: the bucket and a prefix of keys. Several goroutines may use it.
// All keys that its methods take and return are below the prefix.
type Store struct {
	bucket *blob.Bucket
	prefix string // of keys: "" or with "/" at its end
	name   string // the address without its settings, for messages
	masks  *masker
	// Logger gets a line when a request is repeated because the store does not answer. nil says
	// nothing.
	Logger *slog.Logger
	// patience is how long a request is repeated.
	patience time.Duration
}

// patience is how long requests that somebody waits for are repeated.
const patience = time.Minute

// Open opens the store at an address, such as s3://bucket/prefix. The settings after "?" are those
// of gocloud.dev: region, profile, endpoint, use_path_style and so on. It makes no request, so
// that a bucket that does not exist is found at the first use. If the address names an endpoint and
// no region is set anywhere, the region is us-east-1, which other servers than Amazon's take.
func Open(ctx context.Context, address string) (*Store, error) {
	at, err := parse(address)
	if err != nil {
		return nil, err
	}
	opener := &s3blob.URLOpener{}
	u := &url.URL{Scheme: s3blob.Scheme, Host: at.bucket, RawQuery: at.query.Encode()}
	plain, err := opener.OpenBucketURL(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", at, err)
	}
	defer func() { _ = plain.Close() }() // its client holds nothing open
	var client *s3.Client
	if !plain.As(&client) {
		return nil, fmt.Errorf("%v: gocloud.dev has no client for S3", at)
	}
	options := client.Options()
	options.Logger = logging.Nop{}
	options.HTTPClient = patient(options.HTTPClient)
	masks := &masker{from: options.Credentials, seen: map[string]bool{}}
	options.Credentials = masks
	if options.Region == "" && at.query.Has("endpoint") {
		options.Region = "us-east-1"
	}
	b, err := s3blob.OpenBucket(ctx, s3.New(options), at.bucket, &opener.Options)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", at, err)
	}
	return newStore(b, at, masks), nil
}

func newStore(b *blob.Bucket, at place, masks *masker) *Store {
	return &Store{
		bucket: b, prefix: at.prefix, name: at.String(), masks: masks, patience: patience,
	}
}

// Close closes the store. Its mirrors must be closed before.
func (s *Store) Close() error { return s.bucket.Close() }

// String returns the address of the store without its settings.
func (s *Store) String() string { return s.name }

// key returns the key in the bucket for a key below the prefix.
func (s *Store) key(key string) string { return s.prefix + key }

// address returns the address of a key, for messages.
func (s *Store) address(key string) string { return s.name + "/" + key }
