package job

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWait: the waiter goes on while the API server is not ready, and ends with the Job.
func TestWait(t *testing.T) {
	t.Parallel()
	const job = `{"spec":{"completions":8},"status":`
	const running = job + `{"active":8}}`
	for name, test := range map[string]struct {
		answers []string // the last one is repeated
		want    string   // the last line, or a part of the error
	}{
		"complete": {
			[]string{"404", "403", "503", running, job + `{"succeeded":8,"conditions":[` +
				`{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}`},
			"Complete",
		},
		"failed, and pods still end": {
			[]string{
				job + `{"active":1,"conditions":[{"type":"Failed","status":"True"}]}}`,
				job + `{"terminating":1,"conditions":[{"type":"Failed","status":"True"}]}}`,
				job + `{"failedIndexes":"1,3","conditions":[{"type":"Failed","status":"True",` +
					`"message":"Job has failed indexes"}]}}`,
			},
			"Failed Job has failed indexes",
		},
		"deleted":         {[]string{running, "404"}, "the Job was deleted"},
		"never there":     {[]string{"404"}, "there is no Job night in the namespace speech yet"},
		"no right":        {[]string{"403"}, "expected the right to get the Job night"},
		"no JSON":         {[]string{"<html>"}, "invalid character"},
		"does not answer": {[]string{"500"}, "the API server answers 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := test.answers[min(asked, len(test.answers)-1)]
				asked++
				if r.URL.Path != "/apis/batch/v1/namespaces/speech/jobs/night" ||
					r.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("asked for %s with %q", r.URL, r.Header.Get("Authorization"))
				}
				switch answer {
				case "404":
					w.WriteHeader(http.StatusNotFound)
				case "403":
					w.WriteHeader(http.StatusForbidden)
				case "500":
					w.WriteHeader(http.StatusInternalServerError)
				case "503":
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					_, _ = w.Write([]byte(answer))
				}
			}))
			defer server.Close()
			last := ""
			w := Waiter{
				Server: server.URL, Namespace: "speech", Client: server.Client(),
				Token: func() (string, error) { return "secret", nil },
				Every: time.Millisecond, Patience: 300 * time.Millisecond,
				Print: func(line string) { last = line },
			}
			if err := w.Wait(t.Context(), "night"); err != nil {
				last = "error: " + err.Error()
			}
			if ok := strings.Contains(last, test.want); !ok {
				t.Errorf("found %q, expected %q", last, test.want)
			}
			if fails := len(test.answers) == 1; strings.HasPrefix(last, "error: ") != fails {
				t.Errorf("error: %v, expected %v: %s", !fails, fails, last)
			}
		})
	}
}

// TestWaitStops: a waiter ends when its context does.
func TestWaitStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	w := Waiter{
		Server: "http://127.0.0.1:1", Client: http.DefaultClient, Every: time.Hour, Patience: time.Hour,
		Token: func() (string, error) { return "", nil },
		Print: func(string) { stop() },
	}
	if err := w.Wait(ctx, "night"); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v, expected %v", err, context.Canceled)
	}
}
