package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// surroundings are what the service calls: a dependency, a database, a device and the requests of
// others. They run in the command's own process, so that the service's execution trace does not
// have them.
type surroundings struct {
	dependency, database, outside net.Listener
	device                        [2]*os.File // the service's ends: requests, answers
	closers                       []io.Closer
	server                        *http.Server
	working                       sync.WaitGroup

	mu     sync.Mutex // guards what follows
	ask    func(path string) error
	conns  map[net.Conn]bool
	errs   []error
	closed bool
}

func newSurroundings(ctx context.Context) (_ *surroundings, err error) {
	s := &surroundings{conns: map[net.Conn]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, l := range []*net.Listener{&s.dependency, &s.database, &s.outside} {
		if *l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, *l)
	}
	requests, answers, err := s.pipes()
	if err != nil {
		return nil, err
	}
	s.server = &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if late(r.FormValue("takes")) == "" {
				http.Error(w, "takes: must be a duration", http.StatusBadRequest)
			}
		})}
	s.working.Go(func() { _ = s.server.Serve(s.dependency) }) // until close
	s.working.Go(func() { s.accept(s.database, late) })
	s.working.Go(func() { s.accept(s.outside, s.prepare) })
	s.working.Go(func() {
		lines(readWriter{requests, answers},
			func(line string) string { return late(line)[:1] })
	})
	return s, nil
}

// pipes returns the device's ends of two pipes.
func (s *surroundings) pipes() (requests, answers *os.File, err error) {
	requests, toRequests, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	fromAnswers, answers, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, requests.Close(), toRequests.Close())
	}
	s.device = [2]*os.File{toRequests, fromAnswers}
	s.closers = append(s.closers, requests, toRequests, fromAnswers, answers)
	return requests, answers, nil
}

type readWriter struct {
	io.Reader
	io.Writer
}

// late answers when the time in text is over. This is what a slow dependency does.
func late(text string) string {
	takes, err := time.ParseDuration(text)
	if err != nil {
		return "\n"
	}
	if takes > 0 {
		time.Sleep(takes)
	}
	return "answered\n"
}

// prepare sends another request to the service, and answers when the service does.
func (s *surroundings) prepare(path string) string {
	s.mu.Lock()
	ask := s.ask
	s.mu.Unlock()
	if ask == nil {
		return "no service\n"
	}
	if err := ask(path); err != nil {
		return err.Error() + "\n"
	}
	return ready
}

// accept answers lines until the listener is closed.
func (s *surroundings) accept(l net.Listener, answer func(string) string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		if s.closed {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.working.Go(func() {
			defer conn.Close()
			lines(conn, answer)
		})
	}
}

// failed notes an error, which close returns.
func (s *surroundings) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// close ends everything, and returns what went wrong meanwhile.
func (s *surroundings) close() error {
	if s.server != nil {
		_ = s.server.Close() // closes the listener, which is closed again below
	}
	for _, c := range s.closers {
		_ = c.Close()
	}
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.working.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.errs...); err != nil {
		return fmt.Errorf("requests of others: %w", err)
	}
	return nil
}
