package pyroscope

import (
	"context"
	"net"
	"net/http"
	"time"
)

// A dialer makes a connection, as the DialContext of a [net.Dialer] does.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport for the exporter's own HTTP client. http.DefaultTransport may
// add the program's spans. The end of life closes the connections and cancels dialing, which
// net/http continues for a cancelled request. A nil dialer connects by TCP.
func newTransport(life context.Context, dial dialer) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &boundConn{conn, context.AfterFunc(life, func() { _ = conn.Close() })}, nil
		},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// A boundConn is a connection that the end of a context closes.
type boundConn struct {
	net.Conn
	release func() bool // separates the connection from the context
}

func (c *boundConn) Close() error {
	c.release()
	return c.Conn.Close()
}
