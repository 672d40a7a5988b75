package service

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A process that loads itself makes each request of the rate, and compares the answers.
func TestProcessLoadsItself(t *testing.T) {
	for _, c := range []struct {
		name, query, want string // want is what an error has
		answer            []byte
		requests          int
		profiled          bool
	}{
		{name: "answers that are not compared", query: Load{Path: "/a", Rate: 100, Length: 30 * time.Millisecond}.query(), requests: 3},
		{name: "the right answers", query: Load{Path: "/a", Rate: 100, Length: 30 * time.Millisecond}.query(), answer: []byte("answer of /a"), requests: 3},
		{
			name: "with a profile", query: Load{Path: "/a", Rate: 100, Length: 20 * time.Millisecond, Profiled: true}.query(),
			answer: []byte("answer of /a"), requests: 2, profiled: true,
		},
		{name: "other answers", query: Load{Path: "/b", Rate: 100, Length: 10 * time.Millisecond}.query(), answer: []byte("answer of /a"), want: `the answer is "answer of /b"`},
		{name: "no success", query: Load{Path: "/none", Rate: 100, Length: 10 * time.Millisecond}.query(), want: "404"},
		{name: "no length", query: "rate=1&profiled=false&path=/a", want: "duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked, flushed atomic.Int64
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/none" {
					http.NotFound(w, r)
					return
				}
				asked.Add(1)
				_, _ = io.WriteString(w, "answer of "+r.URL.Path)
			}))
			defer service.Close()
			own := httptest.NewServer(loader{NewClient(), service.URL, c.answer, func(context.Context) error { flushed.Add(1); return nil }})
			defer own.Close()
			p := Process{Requests: strings.TrimPrefix(own.URL, "http://")}
			var did Loaded
			err := p.post(t.Context(), "?"+c.query, &did)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error is %v, want %q in it", err, c.want)
				}
				return
			}
			if err != nil || did.Requests != c.requests || asked.Load() != int64(c.requests) {
				t.Errorf("%d requests made and %d asked, %v; want %d", did.Requests, asked.Load(), err, c.requests)
			}
			if zipped := bytes.HasPrefix(did.Profile, []byte{0x1f, 0x8b}); zipped != c.profiled || (flushed.Load() == 1) != c.profiled {
				t.Errorf("the profile has %d bytes, and %d times all was delivered before its end; want a profile: %t", len(did.Profile), flushed.Load(), c.profiled)
			}
		})
	}
}
