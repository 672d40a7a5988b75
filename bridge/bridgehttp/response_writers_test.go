package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The optional interfaces of writers, each alone.
type (
	flush  struct{ http.Flusher }
	hijack struct{ http.Hijacker }
	push   struct{ http.Pusher }
	notify struct{ http.CloseNotifier }
)

// interfaces returns the optional interfaces of w, by their letters.
func interfaces(w http.ResponseWriter) (letters string) {
	if _, ok := w.(http.Flusher); ok {
		letters += "F"
	}
	if _, ok := w.(http.Hijacker); ok {
		letters += "H"
	}
	if _, ok := w.(http.Pusher); ok {
		letters += "P"
	}
	if _, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, and handlers still ask for it
		letters += "C"
	}
	return letters
}

// A handler's writer has the optional interfaces of the server's writer, and no others, in any combination.
func TestResponseHasTheInterfacesOfItsWriter(t *testing.T) {
	type w = http.ResponseWriter
	r := withProcessor(t)
	for want, base := range map[string]http.ResponseWriter{
		"": struct{ w }{},
		"F": struct {
			w
			flush
		}{},
		"H": struct {
			w
			hijack
		}{},
		"P": struct {
			w
			push
		}{},
		"C": struct {
			w
			notify
		}{},
		"FH": struct {
			w
			flush
			hijack
		}{},
		"FP": struct {
			w
			flush
			push
		}{},
		"FC": struct {
			w
			flush
			notify
		}{},
		"HP": struct {
			w
			hijack
			push
		}{},
		"HC": struct {
			w
			hijack
			notify
		}{},
		"PC": struct {
			w
			push
			notify
		}{},
		"FHP": struct {
			w
			flush
			hijack
			push
		}{},
		"FHC": struct {
			w
			flush
			hijack
			notify
		}{},
		"FPC": struct {
			w
			flush
			push
			notify
		}{},
		"HPC": struct {
			w
			hijack
			push
			notify
		}{},
		"FHPC": struct {
			w
			flush
			hijack
			push
			notify
		}{},
	} {
		if got := interfaces(base); got != want {
			t.Fatalf("the server's writer has %q, want %q", got, want)
		}
		got := "the handler does not run"
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			got = interfaces(w)
			panic(http.ErrAbortHandler) // the base cannot write
		})
		func() {
			defer func() { _ = recover() }()
			r.wrap(handler).ServeHTTP(base, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		}()
		if got != want {
			t.Errorf("over a writer with %q the handler has %q", want, got)
		}
	}
}
