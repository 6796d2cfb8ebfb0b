package bucket

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// idleMax is how long nothing may move on a connection in the middle of a request.
const idleMax = 30 * time.Second

// patient returns an HTTP client that ends a request when nothing moves on its connection for
// idleMax. There is no limit for the whole request, so that a slow server can finish.
func patient(client aws.HTTPClient) aws.HTTPClient {
	buildable, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return client
	}
	return buildable.WithTransportOptions(func(t *http.Transport) {
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &moving{Conn: c}, nil
		}
	})
}

// A moving connection fails when nothing moves on it for idleMax.
type moving struct{ net.Conn }

func (c *moving) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleMax)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write writes p. The deadline counts for reading too: while a request goes out, the connection
// waits for the beginning of the answer all the time.
func (c *moving) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleMax)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// A masker remembers the credentials that a provider returned, and masks them in messages.
type masker struct {
	from aws.CredentialsProvider
	mu   sync.Mutex
	seen map[string]bool
}

// Retrieve returns the credentials for a request.
func (m *masker) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := m.from.Retrieve(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range []string{c.AccessKeyID, c.SecretAccessKey, c.SessionToken} {
		if len(text) > shortest {
			m.seen[text] = true
		}
	}
	return c, err
}

// IsCredentialsProvider reports whether the provider behind m is of the target's type. The client
// asks this to find out that requests are not signed.
func (m *masker) IsCredentialsProvider(target aws.CredentialsProvider) bool {
	return aws.IsCredentialsProvider(m.from, target)
}

// shortest is the length up to which a credential is not masked. A server for tests may have "test"
// as its key, and each word "test" would then be masked.
const shortest = 4

// mask returns a message with the credentials in it masked.
func (m *masker) mask(message string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for text := range m.seen {
		message = strings.ReplaceAll(message, text, "***")
	}
	return message
}
