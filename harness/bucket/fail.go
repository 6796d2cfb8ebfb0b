package bucket

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"

	"vramsoak/harness/shard"
)

// ErrTakenOver is wrapped in the errors for a task whose lease is not the highest of its shard any
// more: another task took the shard over.
var ErrTakenOver = shard.ErrTakenOver

// errShort says that an answer ended before its end.
var errShort = errors.New("the answer was cut off")

// A storeError is an error of the store, for a key. Its message has no credentials.
type storeError struct {
	doing, where, message string
	err                   error
}

func (e *storeError) Error() string { return e.doing + " " + e.where + ": " + e.message }
func (e *storeError) Unwrap() error { return e.err }

// fail returns an error for a request that failed, with a short message without credentials.
func (s *Store) fail(doing, key string, err error) error {
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*storeError](err); is {
		return err
	}
	message := err.Error()
	if api, is := errors.AsType[smithy.APIError](err); is {
		message = strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	} else if send, is := errors.AsType[*smithyhttp.RequestSendError](err); is {
		message = send.Err.Error()
	} else if operation, is := errors.AsType[*smithy.OperationError](err); is {
		message = operation.Err.Error()
	}
	if s.masks != nil {
		message = s.masks.mask(message)
	}
	switch {
	case strings.HasPrefix(message, "NoSuchBucket"):
		message += "; make the bucket first"
	case strings.Contains(err.Error(), "get credentials:"):
		message += "; credentials come from AWS's own chain: environment, ~/.aws, or a role"
	case strings.Contains(err.Error(), "region must be set"),
		strings.Contains(err.Error(), "Missing Region"):
		message = "expected a region, found none; set AWS_REGION, or add ?region=NAME to the address"
	}
	return &storeError{doing, s.address(key), message, err}
}

// notFound reports whether an error says that there is no such key.
func notFound(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

// exists reports whether an error says that a write was refused because of what is at its key.
func exists(err error) bool { return gcerrors.Code(err) == gcerrors.FailedPrecondition }

// mayPass reports whether the reason of an error may pass by itself: the network, an overloaded
// server, an answer that was cut off.
func mayPass(err error) bool {
	if errors.Is(err, context.Canceled) || notFound(err) || exists(err) {
		return false
	}
	if response, is := errors.AsType[*awshttp.ResponseError](err); is {
		switch code := response.HTTPStatusCode(); code {
		case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly,
			http.StatusTooManyRequests:
			return true
		case http.StatusBadRequest: // a body that was cut off on its way
			api, is := errors.AsType[smithy.APIError](err)
			return is && (api.ErrorCode() == "IncompleteBody" || api.ErrorCode() == "RequestTimeout" ||
				strings.Contains(api.ErrorCode(), "Digest"))
		default:
			return code >= 500 || code < 300 // with an answer that cannot be read
		}
	}
	if _, is := errors.AsType[*smithyhttp.RequestSendError](err); is {
		return true
	}
	if _, is := errors.AsType[net.Error](err); is {
		return true
	}
	return errors.Is(err, errShort) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.EOF) || strings.Contains(err.Error(), "checksum did not match")
}

// These are the waits between two tries of a request.
const (
	firstWait = 200 * time.Millisecond
	lastWait  = 15 * time.Second
)

// wait returns the wait after a number of failed tries. A random part keeps the tasks of an array,
// which fail together, from trying again together.
func wait(failed int) time.Duration {
	w := firstWait << min(failed-1, 10)
	w = min(w, lastWait)
	return w/2 + rand.N(w/2+1)
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// try calls f until it succeeds, fails for a reason that does not pass by itself, or s.patience is
// over.
func (s *Store) try(ctx context.Context, doing, key string, f func(context.Context) error) error {
	end := time.Now().Add(s.patience)
	for failed := 1; ; failed++ {
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || !mayPass(err) || time.Now().After(end):
			return s.fail(doing, key, err)
		case failed == 1:
			s.say("the store does not answer as expected; trying again", s.fail(doing, key, err))
		}
		sleep(ctx, wait(failed))
	}
}

func (s *Store) say(message string, err error) {
	if s.Logger != nil {
		s.Logger.Warn(message, slog.String("error", err.Error()))
	}
}

func (s *Store) note(message, key string) {
	if s.Logger != nil {
		s.Logger.Info(message, slog.String("key", s.address(key)))
	}
}
