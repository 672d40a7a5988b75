package livepage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
)

// A Shop is the example service, serving on this machine with its live page.
type Shop struct {
	URL     string // without a slash at its end
	Page    string // the live page's
	Summary string // of the page with a summary

	dir string // of the program
	cmd *exec.Cmd
	log *bytes.Buffer // what it printed as errors; read it after Wait
}

// StartShop builds the shop and starts it, with nowhere to send its traces and profiles. env has
// more variables of its environment, such as "PERFLINE_BLACKBOX_DIR=/tmp/boxes".
func StartShop(ctx context.Context, env ...string) (_ *Shop, err error) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	program, err := backend.BuildShop(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Shop{dir: dir, cmd: exec.CommandContext(ctx, program), log: new(bytes.Buffer)}
	s.cmd.Stderr = s.log
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "PYROSCOPE_") &&
			!strings.HasPrefix(v, "PERFLINE_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(s.cmd.Env, env...)
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewScanner(stdout)
	for out.Scan() {
		if url, ok := strings.CutPrefix(out.Text(), "shop: "); ok {
			s.URL = url
		}
		if url, ok := strings.CutPrefix(out.Text(), "live page: "); ok {
			s.Page = url
		}
		if url, ok := strings.CutPrefix(out.Text(), "summary: "); ok {
			s.Summary = url
			return s, nil
		}
	}
	err = errors.Join(s.cmd.Wait(), out.Err())
	return nil, fmt.Errorf("the shop says no address: %w\n%s", err, s.log)
}

// PID is the id of the shop's process.
func (s *Shop) PID() int { return s.cmd.Process.Pid }

// Stop ends the shop, which must end well, though pages may be open.
func (s *Shop) Stop() error {
	err := s.cmd.Process.Signal(os.Interrupt)
	if waitErr := s.cmd.Wait(); waitErr != nil {
		err = errors.Join(err, fmt.Errorf("the shop: %w\n%s", waitErr, s.log))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// A Call is a request to the shop.
type Call struct{ Method, Path, Body string }

// Reading are calls that compute: the slowest of them make the index anew, once a second.
func Reading(i int) Call {
	switch i % 3 {
	case 0:
		return Call{http.MethodGet, fmt.Sprintf("/search?q=number+%d", 1+i%200), ""}
	case 1:
		return Call{http.MethodGet, fmt.Sprintf("/?page=%d", i%10), ""}
	}
	return Call{http.MethodGet, fmt.Sprintf("/products/%d", 1+i%200), ""}
}

// Everything are those and orders, which call others: the slowest of them wait for a bank.
func Everything(i int) Call {
	if i%5 < 2 {
		return Call{http.MethodPost, "/orders", fmt.Sprintf(`{"product":%d,"quantity":2}`, 1+i%200)}
	}
	return Reading(i)
}

// Load sends calls, one at a time and at most two hundred a second, until the function that it
// returns is called. That function waits for the call under way.
func (s *Shop) Load(ctx context.Context, call func(i int) Call) (stop func() error) {
	i := 0
	alive := context.WithoutCancel(ctx)
	l := load.Start(ctx, load.Config{PerSecond: 200, UnderWay: 1, Do: func() error {
		i++
		return s.Send(alive, call(i-1))
	}})
	return func() error {
		l.Stop()
		return l.Total().Err()
	}
}

// Send sends one, which the shop must answer well.
func (s *Shop) Send(ctx context.Context, c Call) error {
	req, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: status %s\n%.300s", c.Method, c.Path, resp.Status, text)
	}
	return err
}
