package bridgehttp

import (
	"bufio"
	"net"
	"net/http"
)

// Each type below adds optional interfaces to a [response]: F adds [http.Flusher], H
// [http.Hijacker], P [http.Pusher] and C [http.CloseNotifier]. Each value is a single pointer, so
// the conversion to an interface does not allocate.
type (
	withF    struct{ *response }
	withH    struct{ *response }
	withP    struct{ *response }
	withC    struct{ *response }
	withFH   struct{ withF }
	withFP   struct{ withF }
	withFC   struct{ withF }
	withHP   struct{ withH }
	withHC   struct{ withH }
	withPC   struct{ withP }
	withFHP  struct{ withFH }
	withFHC  struct{ withFH }
	withFPC  struct{ withFP }
	withHPC  struct{ withHP }
	withFHPC struct{ withFHP }
)

func (w withF) Flush() {
	w.begin(http.StatusOK)
	lost := w.arrival.lost(w.request) // Flush returns no error
	w.ResponseWriter.(http.Flusher).Flush()
	if lost == "" {
		w.arrival.flushed = w.written
	}
}

func (w withH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

func (w withP) Push(target string, o *http.PushOptions) error   { return w.push(target, o) }
func (w withFP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withHP) Push(target string, o *http.PushOptions) error  { return w.push(target, o) }
func (w withFHP) Push(target string, o *http.PushOptions) error { return w.push(target, o) }

func (w withC) CloseNotify() <-chan bool    { return w.closeNotify() }
func (w withFC) CloseNotify() <-chan bool   { return w.closeNotify() }
func (w withHC) CloseNotify() <-chan bool   { return w.closeNotify() }
func (w withPC) CloseNotify() <-chan bool   { return w.closeNotify() }
func (w withFHC) CloseNotify() <-chan bool  { return w.closeNotify() }
func (w withFPC) CloseNotify() <-chan bool  { return w.closeNotify() }
func (w withHPC) CloseNotify() <-chan bool  { return w.closeNotify() }
func (w withFHPC) CloseNotify() <-chan bool { return w.closeNotify() }

func (res *response) push(target string, o *http.PushOptions) error {
	return res.ResponseWriter.(http.Pusher).Push(target, o)
}

func (res *response) closeNotify() <-chan bool {
	return res.ResponseWriter.(http.CloseNotifier).CloseNotify() //nolint:staticcheck // deprecated, and handlers still ask for it
}

// Bits of the optional interfaces, indexes of with.
const bitF, bitH, bitP, bitC = 1, 2, 4, 8

// wrap returns a writer with the same optional interfaces as w.
func (res *response) wrap(w http.ResponseWriter) http.ResponseWriter {
	res.ResponseWriter = w
	has := 0
	if _, ok := w.(http.Flusher); ok {
		has |= bitF
	}
	if _, ok := w.(http.Hijacker); ok {
		has |= bitH
	}
	if _, ok := w.(http.Pusher); ok {
		has |= bitP
	}
	if _, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, and handlers still ask for it
		has |= bitC
	}
	return with[has](res)
}

type writer = http.ResponseWriter

// with contains the constructors of response writers, by their optional interfaces.
var with = [...]func(*response) writer{
	0:                  func(r *response) writer { return r },
	bitF:               func(r *response) writer { return withF{r} },
	bitH:               func(r *response) writer { return withH{r} },
	bitP:               func(r *response) writer { return withP{r} },
	bitC:               func(r *response) writer { return withC{r} },
	bitF | bitH:        func(r *response) writer { return withFH{withF{r}} },
	bitF | bitP:        func(r *response) writer { return withFP{withF{r}} },
	bitF | bitC:        func(r *response) writer { return withFC{withF{r}} },
	bitH | bitP:        func(r *response) writer { return withHP{withH{r}} },
	bitH | bitC:        func(r *response) writer { return withHC{withH{r}} },
	bitP | bitC:        func(r *response) writer { return withPC{withP{r}} },
	bitF | bitH | bitP: func(r *response) writer { return withFHP{withFH{withF{r}}} },
	bitF | bitH | bitC: func(r *response) writer { return withFHC{withFH{withF{r}}} },
	bitF | bitP | bitC: func(r *response) writer { return withFPC{withFP{withF{r}}} },
	bitH | bitP | bitC: func(r *response) writer { return withHPC{withHP{withH{r}}} },
	bitF | bitH | bitP | bitC: func(r *response) writer {
		return withFHPC{withFHP{withFH{withF{r}}}}
	},
}
