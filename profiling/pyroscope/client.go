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
	// bytes read of an answer's body: the server quotes all labels when it refuses one
	maxAnswer   = 64 << 10
	maxReason   = 1 << 10 // bytes of it that are shown
	maxAttempts = 5       // of a profile before it lets the others go first

	statusCanceled = 499 // of the Connect protocol
)

// A client sends uploads, one at a time, by the Connect protocol:
// https://connectrpc.com/docs/protocol.
type client struct {
	http   *http.Client
	url    string
	header http.Header
	close  context.CancelFunc // closes the connections of the exporter's own HTTP client
	hidden *strings.Replacer  // takes secrets out of texts of the server and the network
	sent   uint64             // profiles that the server has taken
	// leaves the connections of the exporter's own HTTP client; nil for the program's
	renew  func()
	silent int // attempts in a row that had no answer in time
}

// maxSilent is after how many attempts in a row without an answer the connections are left. One
// over HTTP/2 may be dead for a quarter of an hour before the system notices.
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
			CheckRedirect: func(*http.Request,
				[]*http.Request) error {
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
	// cut last: half a secret is not found
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

// A fault says whether the profile is the cause of an error, rather than the program's settings or
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
	c.heard(ctx, err)
	if err != nil {
		return unanswered(ctx, err, written.Load()), none
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // half of it is better than nothing
	if resp.StatusCode/100 == 2 {
		return taken(resp, body), none
	}
	return c.refusal(resp, body)
}

// heard notes whether an attempt had an answer in time, and leaves connections that are silent for
// too long.
func (c *client) heard(ctx context.Context, err error) {
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

// unanswered returns the answer to a request without a response. The server may have taken a
// request that was sent completely.
func unanswered(ctx context.Context, err error, written bool) queue.Answer {
	// Without the URL: it may have a password, and is the same for all.
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

// taken returns the answer to a request that the server took by its own account.
func taken(resp *http.Response, body []byte) (a queue.Answer) {
	if typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); len(body) > 0 &&
		typ != protoType {
		a.Message = "the server reports success, but its answer is not Pyroscope's: check ServerAddress"
	}
	return a
}

// refusal returns the answer to a request that the server did not take. The codes of the Connect
// protocol have a status each, so the status decides. Pyroscope 1.12 answers:
//
//   - 400 (invalid_argument): the profile or its labels are beyond a limit or malformed, or the
//     profile is too old.
//   - 401 (unauthenticated): a tenant is missing.
//   - 429 (resource_exhausted): the tenant's rate is used up, the profile alone exceeds it, or it
//     makes a series too many.
//   - 500 (unknown, internal): among others, the parts that store profiles are not ready.
//   - 499 and 504 (canceled, deadline_exceeded): the server stopped to wait for them. They may
//     store the profile.
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
		if resp.Header.Get("Retry-After") != "" { // then time is all that it takes
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

// reason returns what an answer's body says of the reason, to be put behind the status.
func reason(resp *http.Response, body []byte) string {
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	said := string(bytes.TrimSpace(body))
	if typ, _, _ := mime.ParseMediaType(
		resp.Header.Get("Content-Type")); typ == "application/json" &&
		json.Unmarshal(body, &e) == nil && e.Code != "" {
		said = e.Code + ": " + e.Message
	}
	if said == "" {
		return ""
	}
	return ": " + said
}
