package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
)

const (
	protobufType = "application/x-protobuf"
	jsonType     = "application/json"

	maxAnswer    = 4 << 20  // bytes of an answer to a request that was taken, as with gRPC
	maxComplaint = 64 << 10 // bytes of an answer to another one, of which little is shown
	maxRedirects = 10       // as in net/http
)

// An httpWire sends requests by POST.
type httpWire struct {
	client *http.Client
	url    string
	host   string // in place of the URL's, unless it is empty
	header http.Header
	gzip   bool
}

func newHTTPWire(s *Settings) *httpWire {
	header := http.Header{}
	for key, value := range s.Headers {
		header.Set(key, value)
	}
	header.Set("User-Agent", s.userAgent())
	header.Set("Content-Type", protobufType)
	if s.Gzip {
		header.Set("Content-Encoding", "gzip")
	}
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	// net/http's own defaults. Programs change http.DefaultTransport, perhaps into one that makes
	// spans, which would be sent in turn.
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		TLSClientConfig:       s.TLS,
	}
	return &httpWire{
		client: &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		url:    s.URL.String(), host: header.Get("Host"), header: header, gzip: s.Gzip,
	}
}

// checkRedirect follows redirects that repeat the request to the same host. By others the request
// would lose its body, and count as delivered, or its headers would go to another host with the
// secrets in them.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= maxRedirects || next.Method != first.Method ||
		next.URL.Hostname() != first.URL.Hostname() ||
		first.URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

func (w *httpWire) Send(ctx context.Context, body []byte) queue.Answer {
	if w.gzip {
		packed := compress(body)
		defer buffers.Put(packed)
		body = packed.Bytes()
	}
	l := &lease{}
	defer l.release() // before the buffer is used again
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, l.reader(body))
	if err != nil {
		return queue.Answer{Err: reason(err)}
	}
	request.Header = w.header.Clone()
	request.Host = cmp.Or(w.host, request.Host) // net/http ignores the header
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return l.reader(body), nil }
	response, err := w.client.Do(request)
	if err != nil {
		var untrusted *tls.CertificateVerificationError
		return queue.Answer{Err: reason(err), Retry: !errors.As(err, &untrusted),
			Unanswered: l.release()}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return refusal(response)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch typ, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); {
	case len(answer) > maxAnswer:
		return queue.Answer{Err: errLargeAnswer, Unanswered: true}
	case err != nil:
		return queue.Answer{Message: unreadable}
	case len(answer) == 0:
		return queue.Answer{}
	case typ == protobufType:
		return taken(answer)
	case typ == jsonType:
		return takenJSON(answer)
	default:
		return queue.Answer{Message: unreadable}
	}
}

func (w *httpWire) close() error {
	w.client.CloseIdleConnections()
	return nil
}

// errLargeAnswer is an answer beyond maxAnswer. OTLP's specification makes it a non-retryable
// error, whatever its status.
var errLargeAnswer = errors.New("the receiver's answer has more than 4 MiB")

// refusal returns the answer for a response that is no success.
func refusal(response *http.Response) queue.Answer {
	// half of it is better than nothing
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxComplaint))
	unread, _ := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer+1-maxComplaint))
	large := int64(len(said))+unread > maxAnswer
	if typ, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); typ == protobufType {
		said = []byte(statusMessage(said))
	}
	a := queue.Answer{Err: fmt.Errorf("the receiver answers %s", response.Status)}
	if location := response.Header.Get("Location"); location != "" {
		a.Err = fmt.Errorf("%w and leads to %q, which is not followed", a.Err, secret.URL(location))
	}
	if said = bytes.TrimSpace(said); len(said) > 0 {
		a.Err = fmt.Errorf("%w: %s", a.Err, said)
	}
	// A gateway that got no proper answer does not know whether the receiver took the request.
	a.Unanswered = response.StatusCode == http.StatusBadGateway ||
		response.StatusCode == http.StatusGatewayTimeout
	switch response.StatusCode {
	case http.StatusNotFound:
		a.Unknown = true
	case http.StatusRequestEntityTooLarge:
		a.TooLarge = true
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		a.Retry, a.After = true, queue.RetryAfter(response.Header, time.Now())
	}
	if large {
		a.Err, a.Retry, a.After = fmt.Errorf("%w: %w", errLargeAnswer, a.Err), false, 0
	}
	return a
}

// reason returns the reason in an error of net/http without the URL, which may have secrets.
func reason(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
)

// compress returns a buffer of the pool with body in gzip's format.
func compress(body []byte) *bytes.Buffer {
	buffer, packer := buffers.Get().(*bytes.Buffer), packers.Get().(*gzip.Writer)
	defer packers.Put(packer)
	buffer.Reset()
	packer.Reset(buffer)
	_, _ = packer.Write(body) // a buffer takes all
	_ = packer.Close()
	return buffer
}

// A lease lets net/http read a request's body until it is released. net/http may read on after it
// has returned an answer.
type lease struct {
	mu       sync.Mutex // guards what follows
	released bool
	whole    bool // the body was read to its end
}

// release ends the reading. It reports whether the whole body was read, and so may have arrived.
func (l *lease) release() (whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	return l.whole
}

func (l *lease) reader(body []byte) io.ReadCloser { return &leaseReader{l, bytes.NewReader(body)} }

type leaseReader struct {
	lease *lease
	body  *bytes.Reader
}

func (r *leaseReader) Read(p []byte) (int, error) {
	r.lease.mu.Lock()
	defer r.lease.mu.Unlock()
	if r.lease.released {
		return 0, errAnswered
	}
	n, err := r.body.Read(p)
	r.lease.whole = r.lease.whole || r.body.Len() == 0
	return n, err
}

func (r *leaseReader) Close() error { return nil }

var errAnswered = errors.New("the request is answered")
