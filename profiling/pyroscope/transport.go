package pyroscope

import (
	"context"
	"net"
	"net/http"
	"time"
)

// newTransport is that of a client of our own: not http.DefaultTransport, which the
// program may have given spans. Its connections do not outlive life. net/http alone would
// go on connecting for a request that was cancelled.
func newTransport(life context.Context) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &mortal{conn, context.AfterFunc(life, func() { _ = conn.Close() })}, nil
		},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// A mortal is a connection that is closed when something else ends.
type mortal struct {
	net.Conn
	forget func() bool // lets go of it
}

func (m *mortal) Close() error {
	m.forget()
	return m.Conn.Close()
}
