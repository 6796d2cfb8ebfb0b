package job

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Waiter waits for the end of a Job of Kubernetes. [InPod] returns the one for a pod.
type Waiter struct {
	Server    string // the address of the API server
	Namespace string
	Client    *http.Client
	Token     func() (string, error) // read each time, because Kubernetes renews it
	Every     time.Duration          // between two looks
	Patience  time.Duration          // how long the API may fail in a row
	Print     func(line string)      // takes a line when something has changed
}

// The API server sends objects of up to 1.5 MiB, in JSON somewhat more.
const mostObject = 8 << 20

// errGone says that the Job was there and is not any more.
var errGone = errors.New("the Job was deleted")

// InPod returns a Waiter that uses the service account of the pod in which this process runs.
func InPod(say func(line string)) (*Waiter, error) {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	const every, patience, timeout = 5 * time.Second, 10 * time.Minute, 30 * time.Second
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	namespace, err := os.ReadFile(filepath.Join(account, "namespace"))
	ca, err2 := os.ReadFile(filepath.Join(account, "ca.crt"))
	if host == "" || err != nil || err2 != nil {
		return nil, errors.New("expected a pod of Kubernetes with a service account, found none: " +
			"this command runs in a pod, with automountServiceAccountToken: true")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s/ca.crt: expected a certificate, found none", account)
	}
	return &Waiter{
		Server:    "https://" + net.JoinHostPort(host, port),
		Namespace: strings.TrimSpace(string(namespace)),
		Client: &http.Client{Timeout: timeout, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		}},
		Token: func() (string, error) {
			token, err := os.ReadFile(filepath.Join(account, "token"))
			return strings.TrimSpace(string(token)), err
		},
		Every: every, Patience: patience, Print: say,
	}, nil
}

// status is what Wait needs of a Job.
type status struct {
	Spec struct {
		Completions int  `json:"completions"`
		Suspend     bool `json:"suspend"`
	} `json:"spec"`
	Status struct {
		Active           int    `json:"active"`
		Terminating      int    `json:"terminating"`
		Succeeded        int    `json:"succeeded"`
		CompletedIndexes string `json:"completedIndexes"`
		FailedIndexes    string `json:"failedIndexes"`
		Conditions       []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// line describes the status for a person: "5 of 8 shards complete, 3 pods active, failed: 2".
func (s status) line() string {
	text := fmt.Sprintf("%d of %d shards complete, %d pods active", s.Status.Succeeded,
		s.Spec.Completions, s.Status.Active)
	if s.Spec.Suspend {
		text += ", suspended"
	}
	if s.Status.FailedIndexes != "" {
		text += ", failed indexes: " + s.Status.FailedIndexes
	}
	return text
}

// ended returns the condition with which the Job has ended, or "". A Job that has failed may still
// have pods that are being stopped, and write their last lines.
func (s status) ended() string {
	for _, c := range s.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") &&
			s.Status.Active == 0 && s.Status.Terminating == 0 {
			return strings.TrimSpace(c.Type + " " + c.Message)
		}
	}
	return ""
}

// Wait returns when the Job has ended, well or not, or was deleted. It returns an error if the API
// does not answer for longer than the Waiter's patience, or does not know the Job for as long.
func (w *Waiter) Wait(ctx context.Context, name string) error {
	said, seen := "", false
	say := func(line string) {
		if line != said {
			w.Print(line)
			said = line
		}
	}
	answered := time.Now()
	for {
		s, err := w.look(ctx, name, seen)
		switch {
		case errors.Is(err, errGone):
			say(err.Error())
			return nil
		case err == nil:
			answered, seen = time.Now(), true
			say(s.line())
			if end := s.ended(); end != "" {
				say(end)
				return nil
			}
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(answered) > w.Patience:
			return fmt.Errorf("waiting for the Job %s: for %v: %w", name, w.Patience, err)
		default: // the Role may be a moment younger than this pod, or the API server restarts
			say(err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.Every):
		}
	}
}

// look reads the Job once.
func (w *Waiter) look(ctx context.Context, name string, seen bool) (status, error) {
	var s status
	address := fmt.Sprintf("%s/apis/batch/v1/namespaces/%s/jobs/%s", w.Server,
		url.PathEscape(w.Namespace), url.PathEscape(name))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return s, err
	}
	token, err := w.Token()
	if err != nil {
		return s, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	response, err := w.Client.Do(request)
	if err != nil {
		return s, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		if seen {
			return s, errGone
		}
		return s, fmt.Errorf("there is no Job %s in the namespace %s yet", name, w.Namespace)
	case http.StatusForbidden, http.StatusUnauthorized:
		return s, fmt.Errorf("expected the right to get the Job %s, found %s: see the Role that "+
			"vramsoak job kubernetes prints", name, response.Status)
	default:
		return s, fmt.Errorf("the API server answers %s", response.Status)
	}
	err = json.NewDecoder(io.LimitReader(response.Body, mostObject)).Decode(&s)
	return s, err
}
