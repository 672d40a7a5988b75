package main

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/perfline/perfline/lab/internal/otlp"
)

// A backend takes traces over OTLP and profiles as Pyroscope does, and keeps nothing. It
// takes as little time as it can: the service that is measured has to share the
// processors with it.
type backend struct {
	mu  sync.Mutex // guards all
	all received
}

// received is what has arrived at a backend. A request with profiles counts as one.
type received struct{ spans, spanBytes, profiles, profileBytes int64 }

func (r received) plus(o received) received {
	return received{r.spans + o.spans, r.spanBytes + o.spanBytes, r.profiles + o.profiles,
		r.profileBytes + o.profileBytes}
}

func (r received) minus(o received) received {
	return received{r.spans - o.spans, r.spanBytes - o.spanBytes, r.profiles - o.profiles,
		r.profileBytes - o.profileBytes}
}

func (b *backend) received() received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // its sender went away
	}
	var got received
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/traces"):
		got = received{spans: otlp.Spans(body), spanBytes: int64(len(body))}
	// perfline
	case strings.HasSuffix(r.URL.Path, "/push.v1.PusherService/Push"),
		strings.HasSuffix(r.URL.Path, "/v1development/profiles"),
		strings.HasSuffix(r.URL.Path, "/ingest"): // pyroscope-go
		got = received{profiles: 1, profileBytes: int64(len(body))}
	default:
		http.NotFound(w, r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = b.all.plus(got)
}
