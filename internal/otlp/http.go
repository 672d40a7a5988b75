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

	maxAnswer      = 4 << 20  // bytes of an answer, as with gRPC
	maxRefusalText = 64 << 10 // bytes that are read of a refusal's text
	maxRedirects   = 10       // as in net/http
)

// An httpWire sends requests by POST.
type httpWire struct {
	client *http.Client
	url    string
	host   string // overrides the URL's host unless empty
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
	// The defaults of net/http. The program may instrument http.DefaultTransport itself: the spans
	// of our requests would cause further requests.
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

// checkRedirect follows redirects that repeat the request to the same host. Other redirects would
// drop the body, so that the request counts as delivered, or would send secret headers to another
// host.
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
	defer l.release() // before the buffer returns to the pool
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
		return accepted(answer)
	case typ == jsonType:
		return acceptedJSON(answer)
	default:
		return queue.Answer{Message: unreadable}
	}
}

func (w *httpWire) close() error {
	w.client.CloseIdleConnections()
	return nil
}

// errLargeAnswer reports an answer beyond maxAnswer. OTLP's specification forbids a retry, whatever
// the status.
var errLargeAnswer = errors.New("the receiver's answer has more than 4 MiB")

// refusal returns the answer for a response without success.
func refusal(response *http.Response) queue.Answer {
	// Errors are ignored: a part of the text is better than no text.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusalText))
	unread, _ := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer+1-maxRefusalText))
	large := int64(len(body))+unread > maxAnswer
	if typ, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); typ == protobufType {
		body = []byte(statusMessage(body))
	}
	a := queue.Answer{Err: fmt.Errorf("the receiver answers %s", response.Status)}
	if location := response.Header.Get("Location"); location != "" {
		a.Err = fmt.Errorf("%w and leads to %q, which is not followed", a.Err, secret.URL(location))
	}
	if body = bytes.TrimSpace(body); len(body) > 0 {
		a.Err = fmt.Errorf("%w: %s", a.Err, body)
	}
	// A gateway without a proper answer does not know whether the receiver accepted the request.
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

// reason unwraps an error of net/http, because the text of the wrapper contains the URL with its
// secrets.
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

// compress returns a pooled buffer with body in gzip's format.
func compress(body []byte) *bytes.Buffer {
	buffer, packer := buffers.Get().(*bytes.Buffer), packers.Get().(*gzip.Writer)
	defer packers.Put(packer)
	buffer.Reset()
	packer.Reset(buffer)
	_, _ = packer.Write(body) // a bytes.Buffer returns no errors
	_ = packer.Close()
	return buffer
}

// A lease lets net/http read a request's body until release. net/http may continue to read after it
// has returned an answer.
type lease struct {
	mu       sync.Mutex // guards the fields below
	released bool
	whole    bool // net/http read the body to its end
}

// release stops the reading. It reports whether net/http read the whole body, which then may have
// arrived.
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
