package pyroscope

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go/upstream"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
)

const (
	answerTimeout = time.Minute // of a client of our own
	maxAnswer     = 1 << 10     // bytes read of an answer's body
	profileTries  = 5           // of a profile before it lets the others go first
)

// An upload is a profile that waits for delivery.
type upload struct {
	kind string
	job  upstream.UploadJob

	// The client's.
	tries  int
	before uint64 // profiles that the server had taken when this one was tried first
}

// Count returns 1.
func (*upload) Count() int { return 1 }

// Bytes returns the size of the profile as it is sent.
func (u *upload) Bytes() int { return len(u.job.Profile) }

// Request returns the same: a profile is a request.
func (u *upload) Request() int { return u.Bytes() }

// A client sends profiles, one at a time.
type client struct {
	config Config
	http   *http.Client
	close  context.CancelFunc // closes the connections of a client of our own
	now    func() time.Time
	hidden *strings.Replacer // takes secrets out of what the server or the network says
	taken  uint64            // profiles
}

func newClient(c Config, now func() time.Time) *client {
	life, end := context.WithCancel(context.Background())
	cl := &client{config: c, http: c.HTTPClient, close: end, now: now, hidden: hide(c)}
	if cl.http == nil {
		cl.http = &http.Client{
			Timeout: answerTimeout,
			// A redirected POST becomes a GET, or loses its authorization.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     newTransport(life),
		}
	}
	return cl
}

// hide takes c's secrets out of texts.
func hide(c Config) *strings.Replacer {
	secrets := append(slices.Collect(maps.Values(c.Headers)), c.BasicAuthPassword,
		base64.StdEncoding.EncodeToString([]byte(c.BasicAuthUser+":"+c.BasicAuthPassword)))
	return secret.Hide(append(secrets, secret.InURL(c.ServerAddress)...)...)
}

// send sends the one profile of a batch.
func (c *client) send(ctx context.Context, batch []*upload) queue.Answer {
	u := batch[0]
	if u.tries++; u.tries == 1 {
		u.before = c.taken
	}
	a, fault := c.post(ctx, &u.job)
	if a.Err == nil {
		c.taken++
		return a
	}
	a.Err = errors.New(c.hidden.Replace(a.Err.Error()))
	often := a.Retry && u.tries >= profileTries
	switch {
	// The profile is at fault when the server answers that, or fails while it takes others; not when a connection fails.
	case fault == certain && (!a.Retry || often), fault == possible && often && c.taken > u.before:
		return queue.Answer{Rejected: 1, Message: u.kind + ": " + a.Err.Error()}
	default:
		a.Aside = often && fault != none
		return a
	}
}

// A fault says whether an answer is about the profile, rather than about the program that sends it or about the server.
type fault int

const (
	none fault = iota
	possible
	certain
)

// post sends a profile once.
func (c *client) post(ctx context.Context, job *upstream.UploadJob) (queue.Answer, fault) {
	var written atomic.Bool // the whole request
	req, err := c.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { written.Store(i.Err == nil) },
	}), job)
	if err != nil {
		return queue.Answer{Err: fmt.Errorf("no request could be made of it: %w", err)}, certain
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return failed(ctx, err, written.Load()), none
	}
	defer resp.Body.Close()
	// An error here says nothing about the profile.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return c.answered(resp, c.hidden.Replace(strings.TrimSpace(string(body)))) // before it is quoted
}

// failed is the answer for a request without one.
func failed(ctx context.Context, err error, written bool) queue.Answer {
	// Without the URL: it may have a password, and is the same for all.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		err = errors.New("no answer before Shutdown's deadline")
	}
	timeout := (net.Error)(nil)
	if written && (ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout()) {
		return queue.Answer{Err: err, Unanswered: true}
	}
	return queue.Answer{Err: err, Retry: true}
}

// transient are reasons for which Pyroscope 1.12 refuses with a 422 what it may take a
// moment later: its rate limit, and ingesters that are not ready.
var transient = regexp.MustCompile(`rate limit|empty ring|unhealthy instances|live replicas`)

// answered is what the server's answer means.
func (c *client) answered(resp *http.Response, body string) (queue.Answer, fault) {
	a := queue.Answer{Err: fmt.Errorf("the server answered %d %s: %q", resp.StatusCode, http.StatusText(resp.StatusCode), body)}
	switch status := resp.StatusCode; {
	case status/100 == 2:
		return queue.Answer{}, none
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		a.Retry, a.After = true, queue.RetryAfter(resp.Header, c.now())
		if status >= 500 {
			return a, possible
		}
		return a, none
	case status == http.StatusUnprocessableEntity && transient.MatchString(body):
		a.Retry = true
		return a, certain
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		return a, certain
	}
	return a, none
}
