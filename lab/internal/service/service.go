// Package service runs a handler in a process of its own, and asks that process what it has
// used. The process may also be its own client, see [Process.Load].
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/perfline/perfline/lab/internal/process"
)

// The paths of the package's own requests.
const (
	ownPaths = "/benchmark/"
	// delivers what is left to deliver, and returns what the process has used
	usedPath = ownPaths + "used"
	loadPath = ownPaths + "load" // makes requests to the process itself
)

// A Service is what a process serves.
type Service struct {
	Handler http.Handler
	// to each request of a load; nil: not compared
	Answer          []byte
	Calls           interface{ Serve(net.Listener) error } // a gRPC server; may be nil
	Flush, Shutdown func(context.Context) error
}

// Run serves at two loopback ports, whose addresses it prints, until the program's input ends.
func Run(ctx context.Context, s Service) error {
	// Memory without pointers, as every service has some in use: with the little that these
	// keep, garbage would be collected after every few hundred requests.
	inUse := make([]byte, 16<<20)
	defer runtime.KeepAlive(inUse)
	requests, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	calls, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, requests.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+usedPath, func(w http.ResponseWriter, r *http.Request) {
		if err := s.Flush(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(process.Used()) // a reader that fails reports it
	})
	self := loader{NewClient(), "http://" + requests.Addr().String(), s.Answer, s.Flush}
	mux.Handle("POST "+loadPath, self)
	server := &http.Server{Handler: either{mux, s.Handler}}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(requests) }()
	if s.Calls != nil {
		go func() { ended <- s.Calls.Serve(calls) }()
	}
	fmt.Println(requests.Addr(), calls.Addr())
	input := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		input <- err
	}()
	select {
	case err = <-input:
	case err = <-ended:
	}
	_ = calls.Close() // a gRPC server has closed its own
	return errors.Join(err, server.Close(), s.Shutdown(ctx))
}

// either keeps the package's own paths apart from the handler that is measured, which is called
// without a mux between.
type either struct{ own, measured http.Handler }

func (e either) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ownPaths) {
		e.own.ServeHTTP(w, r)
		return
	}
	e.measured.ServeHTTP(w, r)
}
