package bridgehttp

import (
	"bufio"
	"net"
	"net/http"
)

// The types below are a [response] with optional interfaces, by their letters: F is
// [http.Flusher], H is [http.Hijacker], P is [http.Pusher] and C is [http.CloseNotifier]. Each is
// a single pointer, so an interface of it needs no memory.
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

func (w withF) Flush() { w.flush() }

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
	return res.with(has)
}

// with returns the response with these optional interfaces.
func (res *response) with(interfaces int) http.ResponseWriter {
	switch interfaces {
	case flusher:
		return withF{res}
	case hijacker:
		return withH{res}
	case pusher:
		return withP{res}
	case closeNotifier:
		return withC{res}
	case flusher | hijacker:
		return withFH{withF{res}}
	case flusher | pusher:
		return withFP{withF{res}}
	case flusher | closeNotifier:
		return withFC{withF{res}}
	case hijacker | pusher:
		return withHP{withH{res}}
	case hijacker | closeNotifier:
		return withHC{withH{res}}
	case pusher | closeNotifier:
		return withPC{withP{res}}
	case flusher | hijacker | pusher:
		return withFHP{withFH{withF{res}}}
	case flusher | hijacker | closeNotifier:
		return withFHC{withFH{withF{res}}}
	case flusher | pusher | closeNotifier:
		return withFPC{withFP{withF{res}}}
	case hijacker | pusher | closeNotifier:
		return withHPC{withHP{withH{res}}}
	case flusher | hijacker | pusher | closeNotifier:
		return withFHPC{withFHP{withFH{withF{res}}}}
	}
	return res
}
