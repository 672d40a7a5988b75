package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// A fault is a case: a server for profiles.
type fault struct {
	name      string
	length    time.Duration // of the load; 0 means what is asked for
	url       string        // of the server; empty means that handler is served
	handler   http.HandlerFunc
	tls       bool                                                  // with a certificate that nobody knows
	meanwhile func(ctx context.Context, length time.Duration) error // runs beside the load
}

func cases(p *backend.Pyroscope) []fault {
	gone := httptest.NewServer(nil)
	gone.Close()
	const long = 75 * time.Second // for two slow answers, and more memory of the shop itself
	healthy := fault{name: "healthy", url: p.URL()}
	return []fault{
		healthy,
		{name: "absent", url: gone.URL},
		{name: "401", handler: status(http.StatusUnauthorized)},
		{name: "413", handler: status(http.StatusRequestEntityTooLarge)},
		{name: "429", handler: status(http.StatusTooManyRequests)},
		{name: "500", handler: status(http.StatusInternalServerError)},
		healthy,
		{name: "garbage for an answer", handler: cut("garbage\r\n\r\n", -1)},
		{name: "connection cut while it is sent", handler: cut("", 100)},
		{name: "unknown certificate", handler: status(http.StatusOK), tls: true},
		{name: "dies and comes back", url: p.URL(), meanwhile: func(ctx context.Context, length time.Duration) error { return restart(ctx, p, length) }},
		healthy,
		{name: "healthy, 75 s", length: long, url: p.URL()},
		{name: "slow: answers after 30 s, 75 s", length: long, handler: slow},
	}
}

// slow takes a profile, and says so half a minute later.
func slow(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // or it is not seen when the client goes
	select {
	case <-time.After(30 * time.Second):
	case <-r.Context().Done():
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
	}
}

// cut reads so many bytes of a profile, all of them if negative, answers and closes the
// connection.
func cut(answer string, bytes int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if bytes < 0 {
			_, _ = io.Copy(io.Discard, r.Body)
		} else {
			_, _ = io.CopyN(io.Discard, r.Body, bytes)
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err) // it can, with HTTP/1.1
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

// restart kills p after a quarter of the time and starts it again after three fifths.
func restart(ctx context.Context, p *backend.Pyroscope, length time.Duration) error {
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := wait(length / 4); err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	err := wait(length*3/5 - length/4)
	return errors.Join(err, p.Start(ctx)) // also for the cases after it
}

// serve serves the case until stop is called.
func (f fault) serve() (url string, stop func()) {
	if f.url != "" {
		return f.url, func() {}
	}
	s := httptest.NewUnstartedServer(f.handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // what goes wrong is meant
	if f.tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	return s.URL, s.Close
}
