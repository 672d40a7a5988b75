package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/queue"
)

func TestStatusHTTP(t *testing.T) {
	explained := protowire.AppendString(protowire.AppendTag(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 8), 2, protowire.BytesType), "slow down")
	for _, c := range []struct {
		status int
		header string // "name: value"
		body   string
		want   queue.Answer
		says   string
	}{
		{200, "", "", queue.Answer{}, ""},
		{202, "", "", queue.Answer{}, ""},
		{204, "", "", queue.Answer{}, ""},
		{304, "", "", queue.Answer{}, "the receiver answers 304 Not Modified"},
		{400, "Content-Type: application/x-protobuf", string(explained), queue.Answer{}, "the receiver answers 400 Bad Request: slow down"},
		{400, "Content-Type: application/x-protobuf", "\xff", queue.Answer{}, "the receiver answers 400 Bad Request"},
		{401, "", " no\n\x1b[31m ", queue.Answer{}, "401 Unauthorized: no  [31m"},
		{404, "", "", queue.Answer{Unknown: true}, "404 Not Found"},
		{405, "", "", queue.Answer{}, "405 Method Not Allowed"},
		{408, "", "", queue.Answer{}, "408"},
		{413, "", "too large", queue.Answer{TooLarge: true}, "413 Request Entity Too Large: too large"},
		{429, "", "", queue.Answer{Retry: true}, "429"},
		{429, "Retry-After: 7", "", queue.Answer{Retry: true, After: 7 * time.Second}, "429"},
		{429, "Retry-After: -7", "", queue.Answer{Retry: true}, "429"},
		{429, "Retry-After: soon", "", queue.Answer{Retry: true}, "429"},
		{429, "Retry-After: Mon, 01 Jan 2001 00:00:00 GMT", "", queue.Answer{Retry: true}, "429"},
		{429, "Retry-After: 99999999999999999999", "", queue.Answer{Retry: true, After: 9223372036 * time.Second}, "429"},
		{500, "Retry-After: 7", "", queue.Answer{}, "500"},
		{501, "", "", queue.Answer{}, "501"},
		{502, "", "", queue.Answer{Retry: true, Unanswered: true}, "502"},
		{503, "Retry-After: 0", "<html>" + strings.Repeat("p", 1<<20), queue.Answer{Retry: true}, "503 Service Unavailable: <html>pp"},
		{504, "", "", queue.Answer{Retry: true, Unanswered: true}, "504"},
	} {
		t.Run(fmt.Sprint(c.status, c.header), func(t *testing.T) {
			endpoint := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if name, value, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}, nil)
			got := senderTo(t, HTTP, endpoint).Send(t.Context(), requestOf(t, 1))
			check(t, got, c.want, c.says)
			if got.Err != nil && len(got.Err.Error()) > maxText {
				t.Errorf("the error has %d bytes", len(got.Err.Error()))
			}
		})
	}
}

// An answer with success counts as one, whatever is in it.
func TestGarbageHTTP(t *testing.T) {
	const protobuf = "application/x-protobuf"
	for _, c := range []struct {
		name, typ, body string
		want            queue.Answer
	}{
		{"no protobuf", protobuf, "\xff\xff\xff", queue.Answer{Message: unreadable}},
		{"half a message", protobuf, "\x0a\x05\x08", queue.Answer{Message: unreadable}},
		{"a page", "text/html; charset=utf-8", "<html>", queue.Answer{Message: unreadable}},
		{"JSON", "application/json; charset=utf-8", `{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`, queue.Answer{Rejected: 3, Message: "no"}},
		{"JSON with a number", "application/json", `{"partialSuccess":{"rejectedProfiles":3}}`, queue.Answer{Rejected: 3}},
		{"empty JSON", "application/json", `{}`, queue.Answer{}},
		{"no JSON", "application/json", `{`, queue.Answer{Message: unreadable}},
		{"JSON with a wrong number", "application/json", `{"partialSuccess":{"rejectedSpans":"many"}}`, queue.Answer{Message: unreadable}},
		{"a secret and control characters", "application/json", `{"partialSuccess":{"errorMessage":"hunter2\n"}}`, queue.Answer{Message: "xxxxx "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoint := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.typ)
				_, _ = io.WriteString(w, c.body)
			}, nil)
			s := resolve(t, Config{Endpoint: endpoint, Protocol: HTTP, Headers: map[string]string{"x-token": "hunter2"}})
			check(t, newSender(t, s).Send(t.Context(), requestOf(t, 1)), c.want, "")
		})
	}
}

// An answer beyond 4 MiB is an error, and the request is not sent again, whatever the status.
func TestLargeAnswersHTTP(t *testing.T) {
	for status, says := range map[int]string{
		200: "the receiver's answer has more than 4 MiB", 400: "400 Bad Request", 429: "429 Too Many Requests", 503: "503 Service Unavailable",
	} {
		for size, large := range map[int]bool{maxAnswer: false, maxAnswer + 1: true, 2 * maxAnswer: true} {
			endpoint := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(status)
				_, _ = w.Write(bytes.Repeat([]byte("x"), size))
			}, nil)
			got := senderTo(t, HTTP, endpoint).Send(t.Context(), requestOf(t, 1))
			if wrong := got.Err != nil && strings.Contains(got.Err.Error(), "more than 4 MiB"); wrong != large {
				t.Errorf("%d with %d bytes: error %.100v", status, size, got.Err)
			}
			if large && (got.Retry || got.After != 0 || !strings.Contains(got.Err.Error(), says)) {
				t.Errorf("%d with %d bytes: retry %v, error %.200v, want an error with %q and no retry", status, size, got.Retry, got.Err, says)
			}
			if retried := status == 429 || status == 503; !large && got.Retry != retried {
				t.Errorf("%d with %d bytes: retry %v, want %v", status, size, got.Retry, retried)
			}
		}
	}
}

// Redirects are followed where the request stays the same. By others, it would arrive without its body, or elsewhere
// with its headers.
func TestRedirects(t *testing.T) {
	arrived := 0
	elsewhere := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s arrives elsewhere with %v", r.Method, r.URL, r.Header)
	}, nil)
	elsewhere = strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)
	var status int
	var location string
	endpoint := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/traces":
			http.Redirect(w, r, location, status)
		case "/there":
			if decoded(t, r); r.Method == http.MethodPost {
				arrived++
			}
		case "/round":
			http.Redirect(w, r, "/round", http.StatusPermanentRedirect)
		}
	}, nil)
	sender := senderTo(t, HTTP, endpoint)
	for _, c := range []struct {
		status   int
		location string
		says     string
	}{
		{307, "/there", ""},
		{308, endpoint + "/there", ""},
		{301, "/there", `the receiver answers 301 Moved Permanently and leads to "/there", which is not followed`},
		{302, "/there", "302"},
		{303, "/there", "303"},
		{307, elsewhere + "/there?token=secret", `307 Temporary Redirect and leads to "` + elsewhere + `/there", which`},
		{307, "/round", "308"},
	} {
		t.Run(fmt.Sprint(c.status, c.location), func(t *testing.T) {
			arrived, status, location = 0, c.status, c.location
			check(t, sender.Send(t.Context(), requestOf(t, 100)), queue.Answer{}, c.says)
			if (arrived == 1) != (c.says == "") {
				t.Errorf("%d arrived", arrived)
			}
		})
	}
}

// net/http may read a body after it has returned an answer. It gets an error then, since the bytes may be others'.
func TestLease(t *testing.T) {
	l := &lease{}
	r := l.reader([]byte("body"))
	if n, err := r.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Errorf("read %d bytes, %v; want 2", n, err)
	}
	l.release()
	for _, r := range []io.Reader{r, l.reader([]byte("body"))} {
		if n, err := r.Read(make([]byte, 2)); n != 0 || !errors.Is(err, errAnswered) {
			t.Errorf("read %d bytes, %v; want none", n, err)
		}
	}
}
