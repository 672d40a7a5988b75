package bridgehttp

import (
	"bufio"
	"net"
	"net/http"
)

// The types below are a [response] with optional interfaces, by their letters: F is [http.Flusher],
// H is [http.Hijacker], P is [http.Pusher] and C is [http.CloseNotifier]. Each is a single pointer,
// so an interface of it needs no memory.
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
	lost := w.arrival.lost(w.request) // Flush tells no error
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

// The optional interfaces of writers, as bits.
const (
	flusher = 1 << iota
	hijacker
	pusher
	closeNotifier
)

// wrap returns the writer for the handler, with the optional interfaces that w has.
func (res *response) wrap(w http.ResponseWriter) http.ResponseWriter {
	res.ResponseWriter = w
	has := 0
	if _, ok := w.(http.Flusher); ok {
		has |= flusher
	}
	if _, ok := w.(http.Hijacker); ok {
		has |= hijacker
	}
	if _, ok := w.(http.Pusher); ok {
		has |= pusher
	}
	if _, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, and handlers still ask for it
		has |= closeNotifier
	}
	return with[has](res)
}

// with has the functions that return a response with optional interfaces.
var with = [...]func(*response) http.ResponseWriter{
	0:                                  func(r *response) http.ResponseWriter { return r },
	flusher:                            func(r *response) http.ResponseWriter { return withF{r} },
	hijacker:                           func(r *response) http.ResponseWriter { return withH{r} },
	pusher:                             func(r *response) http.ResponseWriter { return withP{r} },
	closeNotifier:                      func(r *response) http.ResponseWriter { return withC{r} },
	flusher | hijacker:                 func(r *response) http.ResponseWriter { return withFH{withF{r}} },
	flusher | pusher:                   func(r *response) http.ResponseWriter { return withFP{withF{r}} },
	flusher | closeNotifier:            func(r *response) http.ResponseWriter { return withFC{withF{r}} },
	hijacker | pusher:                  func(r *response) http.ResponseWriter { return withHP{withH{r}} },
	hijacker | closeNotifier:           func(r *response) http.ResponseWriter { return withHC{withH{r}} },
	pusher | closeNotifier:             func(r *response) http.ResponseWriter { return withPC{withP{r}} },
	flusher | hijacker | pusher:        func(r *response) http.ResponseWriter { return withFHP{withFH{withF{r}}} },
	flusher | hijacker | closeNotifier: func(r *response) http.ResponseWriter { return withFHC{withFH{withF{r}}} },
	flusher | pusher | closeNotifier:   func(r *response) http.ResponseWriter { return withFPC{withFP{withF{r}}} },
	hijacker | pusher | closeNotifier:  func(r *response) http.ResponseWriter { return withHPC{withHP{withH{r}}} },
	flusher | hijacker | pusher | closeNotifier: func(r *response) http.ResponseWriter { return withFHPC{withFHP{withFH{withF{r}}}} },
}
