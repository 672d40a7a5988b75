package pyroscope

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/text"
)

const (
	pushPath  = "push.v1.PusherService/Push"
	protoType = "application/proto" // the content type of the Connect protocol for protobuf

	answerTimeout = time.Minute // of the exporter's own HTTP client
	maxAnswer     = 64 << 10    // bytes of an answer's body: it may quote all labels
	maxReason     = 1 << 10     // bytes of an answer in a message
	maxAttempts   = 5           // of a profile before it is set aside

	statusCanceled = 499 // of the Connect protocol
)

// A client sends uploads, one at a time, by the Connect protocol:
// https://connectrpc.com/docs/protocol.
type client struct {
	http   *http.Client
	url    string
	header http.Header
	close  context.CancelFunc // closes the connections of the exporter's own HTTP client
	hidden *strings.Replacer  // removes secrets from texts of the server and the network
	sent   uint64             // profiles that the server has accepted
	renew  func()             // replaces the exporter's own connections; nil for a program's client
	silent int                // attempts in a row without an answer in time
}

// maxSilent is the number of attempts in a row without an answer after which the client opens new
// connections. A dead HTTP/2 connection may go unnoticed for a quarter of an hour.
const maxSilent = 2

func newClient(c Config, dial dialer) *client {
	endpoint, _ := url.JoinPath(c.ServerAddress, pushPath) // resolve has parsed the address
	header := http.Header{}
	secrets := append(slices.Collect(maps.Values(c.Headers)), secret.InURL(c.ServerAddress)...)
	if c.BasicAuthUser != "" {
		basic := base64.StdEncoding.EncodeToString(
			[]byte(c.BasicAuthUser + ":" + c.BasicAuthPassword))
		header.Set("Authorization", "Basic "+basic)
		secrets = append(secrets, c.BasicAuthPassword, basic)
	}
	if c.TenantID != "" {
		header.Set("X-Scope-OrgID", c.TenantID)
	}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	header.Set("Content-Type", protoType)
	header.Set("Connect-Protocol-Version", "1")

	life, end := context.WithCancel(context.Background())
	cl := &client{
		http: c.HTTPClient, url: endpoint, header: header, close: end,
		hidden: secret.Hide(secrets...),
	}
	if cl.http == nil {
		cl.http = &http.Client{
			Timeout: answerTimeout,
			// A redirected POST becomes a GET, or loses its authorization.
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
			Transport: newTransport(life, dial),
		}
		cl.renew = func() {
			old := cl.http.Transport.(*http.Transport)
			cl.http.Transport = newTransport(life, dial)
			old.CloseIdleConnections()
		}
	}
	return cl
}

// send sends the one upload of a batch.
func (c *client) send(ctx context.Context, batch []*upload) queue.Answer {
	u := batch[0]
	if u.attempts++; u.attempts == 1 {
		u.sentBefore = c.sent
	}
	a, fault := c.post(ctx, u.request)
	if a.Err == nil {
		c.sent++
		return a
	}
	// Cut after Replace, which does not find half a secret.
	a.Err = errors.New(text.Cut(text.Escape(c.hidden.Replace(a.Err.Error()), ""), maxReason))
	u.unanswered = u.unanswered || a.Unanswered
	often := fault == possible && u.attempts >= maxAttempts
	lost := fault == certain || often && c.sent > u.sentBefore
	switch {
	case lost && u.unanswered:
		return queue.Answer{Err: a.Err, Unanswered: true}
	case lost:
		return queue.Answer{Rejected: 1, Message: u.kind + ": " + a.Err.Error()}
	default:
		a.Defer = often
		return a
	}
}

// A fault is the probability that the profile causes an error, and not the program's settings or
// the server's state.
type fault int

const (
	none fault = iota
	possible
	certain
)

// post makes one attempt to send a request.
func (c *client) post(ctx context.Context, request []byte) (queue.Answer, fault) {
	var written atomic.Bool // the whole request
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { written.Store(i.Err == nil) },
	}), http.MethodPost, c.url, bytes.NewReader(request))
	if err != nil {
		return queue.Answer{Err: err}, none
	}
	req.Header = c.header.Clone()
	req.Host = cmp.Or(c.header.Get("Host"), req.Host) // net/http ignores the header
	resp, err := c.http.Do(req)
	c.countSilence(ctx, err)
	if err != nil {
		return unanswered(ctx, err, written.Load()), none
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // half of it is better than nothing
	if resp.StatusCode/100 == 2 {
		return accepted(resp, body), none
	}
	return c.refusal(resp, body)
}

// countSilence counts attempts without an answer in time, and renews silent connections.
func (c *client) countSilence(ctx context.Context, err error) {
	timeout := (net.Error)(nil)
	if !errors.As(err, &timeout) || !timeout.Timeout() || ctx.Err() != nil {
		c.silent = 0
		return
	}
	if c.silent++; c.silent >= maxSilent && c.renew != nil {
		c.silent = 0
		c.renew()
	}
}

// unanswered returns the answer to a request without a response. The server may have accepted a
// request that was sent completely.
func unanswered(ctx context.Context, err error, written bool) queue.Answer {
	// The URL may have a password, and is the same for all requests.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	timeout := (net.Error)(nil)
	late := errors.As(err, &timeout) && timeout.Timeout()
	if ctx.Err() != nil {
		err, late = errors.New("no answer before Shutdown's deadline"), true
	}
	// After a timeout the server is likely to have the profile, and to be busy with it.
	return queue.Answer{Err: err, Unanswered: written, Retry: !written || !late}
}

// accepted returns the answer to a request that the server reports as accepted.
func accepted(resp *http.Response, body []byte) (a queue.Answer) {
	if len(body) > 0 && contentType(resp) != protoType {
		a.Message = "the server reports success, but its answer is not Pyroscope's: check ServerAddress"
	}
	return a
}

// refusal returns the answer to a request that the server did not accept. Each code of the Connect
// protocol has its own status, so the status decides. Pyroscope 1.12 answers:
//
//   - 400 (invalid_argument): the profile or its labels exceed a limit or are malformed, or the
//     profile is too old.
//   - 401 (unauthenticated): a tenant is missing.
//   - 429 (resource_exhausted): the tenant's rate is used up, the profile alone exceeds the rate,
//     or the tenant has too many series.
//   - 500 (unknown, internal): among others, the parts that store profiles are not ready.
//   - 499 and 504 (canceled, deadline_exceeded): the server stopped waiting for these parts, which
//     may store the profile.
func (*client) refusal(resp *http.Response, body []byte) (queue.Answer, fault) {
	a := queue.Answer{Err: fmt.Errorf("the server answered %d %s%s", resp.StatusCode,
		http.StatusText(resp.StatusCode), reason(resp, body))}
	retry := func(fault fault) (queue.Answer, fault) {
		a.Retry, a.After = true, queue.RetryAfter(resp.Header, time.Now())
		return a, fault
	}
	switch status := resp.StatusCode; status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return a, certain
	case http.StatusNotFound, http.StatusNotImplemented:
		a.Err = fmt.Errorf("%w; pushing needs Pyroscope 1.0 or newer at ServerAddress", a.Err)
		return a, none
	case http.StatusRequestTimeout:
		return retry(none)
	case http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") != "" { // then only time is needed
			return retry(none)
		}
		return retry(possible)
	case statusCanceled, http.StatusBadGateway, http.StatusGatewayTimeout:
		a.Unanswered = true
		return retry(possible)
	default:
		if status >= 500 {
			return retry(possible)
		}
		return a, none
	}
}

// reason returns the reason in an answer's body, as a suffix of the status.
func reason(resp *http.Response, body []byte) string {
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	said := string(bytes.TrimSpace(body))
	if contentType(resp) == "application/json" && json.Unmarshal(body, &e) == nil && e.Code != "" {
		said = e.Code + ": " + e.Message
	}
	if said == "" {
		return ""
	}
	return ": " + said
}

func contentType(resp *http.Response) string {
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return typ
}
