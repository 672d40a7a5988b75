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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/grafana/pyroscope-go/upstream"
	"github.com/grafana/pyroscope-go/upstream/remote"

	"github.com/perfline/perfline/internal/secret"
)

const (
	answerTimeout = time.Minute // of a client of our own
	maxAnswer     = 1 << 10     // bytes read of an answer's body
)

// An outcome is what became of an attempt to deliver a profile.
type outcome int

const (
	refused    outcome = iota // for good; also when no request could be made of it
	sent                      // the server has it
	unanswered                // the server may have it
	retryable                 // the server has it not, and may take it later
	cancelled                 // it was stopped before the server had it
)

// A result is an outcome and why.
type result struct {
	outcome outcome
	err     error         // nil if sent
	profile bool          // it is about this profile, not whoever sends one
	suspect bool          // it may be: the server failed
	after   time.Duration // the server asked for a pause
}

// A client delivers a profile by pyroscope-go's Remote, one at a time, and learns what
// became of it as the HTTP client of the Remote, which itself does not tell.
type client struct {
	remote *remote.Remote
	http   *http.Client
	end    context.CancelFunc // of the connections of a client of our own
	now    func() time.Time
	hidden *strings.Replacer // takes secrets out of what the server or the network says

	// Of the one upload that is under way.
	ctx    context.Context //nolint:containedctx // Remote has no parameter for it
	result result
}

func newClient(c Config, now func() time.Time) (*client, error) {
	life, end := context.WithCancel(context.Background())
	cl := &client{http: c.HTTPClient, end: end, now: now, hidden: hide(c)}
	if cl.http == nil {
		cl.http = &http.Client{
			Timeout: answerTimeout,
			// A redirected POST becomes a GET, or loses its authorization.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     newTransport(life),
		}
	}
	var err error
	cl.remote, err = remote.NewRemote(remote.Config{
		Address: c.ServerAddress, BasicAuthUser: c.BasicAuthUser, BasicAuthPassword: c.BasicAuthPassword,
		TenantID: c.TenantID, HTTPHeaders: c.Headers, Threads: 1, Logger: silent{}, HTTPClient: cl,
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("pyroscope: server %s: %w", secret.URL(c.ServerAddress), err)
	}
	return cl, nil
}

// start starts the Remote's goroutine, which inherits the caller's labels.
func (c *client) start() { c.remote.Start() }

// stop returns when that goroutine has ended. Nothing is under way.
func (c *client) stop() {
	c.remote.Stop()
	c.end()
}

// send delivers a profile, or tries to until ctx is over.
func (c *client) send(ctx context.Context, job *upstream.UploadJob) result {
	c.ctx, c.result = ctx, result{err: errors.New("no request could be made of it"), profile: true}
	c.remote.Upload(job)
	c.remote.Flush()
	if c.result.err != nil {
		c.result.err = errors.New(c.hidden.Replace(c.result.err.Error()))
	}
	return c.result
}

// hide takes c's secrets out of texts.
func hide(c Config) *strings.Replacer {
	secrets := append(slices.Collect(maps.Values(c.Headers)), c.BasicAuthPassword,
		base64.StdEncoding.EncodeToString([]byte(c.BasicAuthUser+":"+c.BasicAuthPassword)))
	return secret.Hide(append(secrets, secret.InURL(c.ServerAddress)...)...)
}

// Do is the Remote's HTTP client.
func (c *client) Do(req *http.Request) (*http.Response, error) {
	var written atomic.Bool // the whole request
	ctx := httptrace.WithClientTrace(c.ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { written.Store(i.Err == nil) },
	})
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		c.result = c.failed(err, written.Load())
		return nil, err
	}
	defer resp.Body.Close()
	// What cannot be read of the body says nothing about the profile.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	c.result = c.answered(resp, c.hidden.Replace(strings.TrimSpace(string(body)))) // before it is quoted
	return &http.Response{StatusCode: resp.StatusCode, Body: http.NoBody}, nil
}

// failed is the result of a request without an answer.
func (c *client) failed(err error, written bool) result {
	// Without the URL: it may have a password, and is the same for all.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	r := result{outcome: retryable, err: err}
	timeout := (net.Error)(nil)
	switch {
	case c.ctx.Err() != nil:
		r.err = errors.New("no answer before Shutdown's deadline")
		r.outcome = cancelled
		if written {
			r.outcome = unanswered
		}
	case written && errors.As(err, &timeout) && timeout.Timeout():
		r.outcome = unanswered
	}
	return r
}

// transient are reasons for which Pyroscope 1.12 refuses with a 422 what it may take a
// moment later: its rate limit, and ingesters that are not ready.
var transient = regexp.MustCompile(`rate limit|empty ring|unhealthy instances|live replicas`)

// answered is the result of a request with an answer.
func (c *client) answered(resp *http.Response, body string) result {
	r := result{err: fmt.Errorf("the server answered %d %s: %q", resp.StatusCode, http.StatusText(resp.StatusCode), body)}
	switch status := resp.StatusCode; {
	case status/100 == 2:
		return result{outcome: sent}
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		r.outcome, r.suspect = retryable, status >= 500
		r.after = retryAfter(resp.Header.Get("Retry-After"), c.now())
	case status == http.StatusUnprocessableEntity && transient.MatchString(body):
		r.outcome, r.profile = retryable, true
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		r.profile = true
	}
	return r
}

// retryAfter reads the header of that name (RFC 9110, section 10.2.3): seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// silent is the Remote's logger: what it would say names the URL, and is said by the report.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
func (silent) Errorf(string, ...any) {}
