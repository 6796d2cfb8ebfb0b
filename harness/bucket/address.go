package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// scheme begins the address of a bucket.
const scheme = "s3://"

// IsAddress reports whether a path is the address of a bucket: s3://bucket/prefix.
func IsAddress(path string) bool { return strings.HasPrefix(path, scheme) }

// CheckRuns returns an error if a path can neither be a folder nor the address of a bucket that
// [Open] opens.
func CheckRuns(path string) error {
	if IsAddress(path) {
		_, err := parse(path)
		return err
	}
	if other, _, is := strings.Cut(path, "://"); is && !strings.Contains(other, "/") {
		return fmt.Errorf("expected a folder, or a bucket such as s3://bucket/prefix, found %s://; "+
			"other clouds' stores work if they speak S3: add ?endpoint=URL", other)
	}
	return nil
}

// Join returns the address of what lies below an address. The settings after "?" stay at its end.
func Join(address string, names ...string) string {
	place, query, found := strings.Cut(address, "?")
	place = scheme + path.Join(append([]string{strings.TrimPrefix(place, scheme)}, names...)...)
	if found {
		place += "?" + query
	}
	return place
}

// Base returns the last name of an address: "nightly-42" for s3://bucket/runs/nightly-42?region=r.
func Base(address string) string {
	place, _, _ := strings.Cut(strings.TrimPrefix(address, scheme), "?")
	return path.Base(place)
}

// settings are the names that may stand after "?" in an address. They are those of gocloud.dev's
// s3blob.
var settings = []string{
	"accelerate", "anonymous", "disable_https", "dualstack", "endpoint", "fips",
	"hostname_immutable", "kmskeyid", "profile", "rate_limiter_capacity", "region",
	"request_checksum_calculation", "response_checksum_validation", "role", "s3ForcePathStyle",
	"ssetype", "use_path_style",
}

// place is a parsed address.
type place struct {
	bucket string
	prefix string // "" or with "/" at its end
	query  url.Values
}

// parse parses an address. Its errors show no part of the address that could hold a secret.
func parse(address string) (place, error) {
	if !IsAddress(address) {
		return place{}, fmt.Errorf("%q: expected the address of a bucket, such as "+
			"s3://bucket/prefix", address)
	}
	where, query, _ := strings.Cut(strings.TrimPrefix(address, scheme), "?")
	bucket, prefix, _ := strings.Cut(where, "/")
	switch {
	case strings.Contains(bucket, "@"):
		return place{}, errors.New("s3://***@...: expected an address without credentials; AWS's " +
			"own settings hold them: environment, ~/.aws, or a role")
	case bucket == "":
		return place{}, fmt.Errorf("%s: expected the name of a bucket after s3://", scheme+where)
	}
	at := place{bucket: bucket}
	if prefix = strings.Trim(path.Clean("/"+prefix), "/"); prefix != "" {
		at.prefix = prefix + "/"
	}
	var err error
	if at.query, err = url.ParseQuery(query); err != nil {
		return place{}, fmt.Errorf("%s: expected settings such as ?region=eu-central-1&"+
			"use_path_style=true after the address, found ones that cannot be read", scheme+where)
	}
	for name, values := range at.query {
		if !slices.Contains(settings, name) {
			return place{}, fmt.Errorf("%s: expected settings that S3 addresses have (%s), found %q",
				scheme+where, strings.Join(settings, ", "), name)
		}
		if len(values) != 1 || values[0] == "" {
			return place{}, fmt.Errorf("%s: expected one value for %q", scheme+where, name)
		}
	}
	if endpoint := at.query.Get("endpoint"); endpoint != "" {
		u, err := url.Parse(endpoint)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return place{}, fmt.Errorf("%s: endpoint: expected an address such as "+
				"https://store.example:9000", scheme+where)
		case u.User != nil:
			return place{}, fmt.Errorf("%s: endpoint: expected an address without credentials",
				scheme+where)
		}
	}
	return at, nil
}

// String returns the address without its settings.
func (p place) String() string {
	return strings.TrimSuffix(scheme+p.bucket+"/"+p.prefix, "/")
}
