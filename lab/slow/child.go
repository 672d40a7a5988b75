package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/perfline/perfline/lab/internal/cgroup"
	"github.com/perfline/perfline/lab/scripted"
)

// A child is the service's process.
type child struct {
	requests, judge string // addresses

	command *exec.Cmd
	began   time.Time
	limited bool // runs in a group with a limit
	input   io.Closer
	client  *http.Client
	others  sync.WaitGroup  // requests that hold what others need
	agent   *scripted.Agent // nil unless it finds the sentences
}

// serveWord is the argument that makes this program the service.
const serveWord = "serve"

// patience is how long an answer may take before something is wrong.
const patience = time.Minute

// A kindOfChild says how a service is set up.
type kindOfChild struct {
	oneProcessor, live, disarmed, sdk bool
	window                            time.Duration // of the recorder; 0 means its default
	// that the process runs in; empty for the one of the command
	group cgroup.Group
}

// startChild starts the service. s answers to it.
func startChild(ctx context.Context, s *surroundings, k kindOfChild) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{serveWord, "-dependency", s.dependency.Addr().String(), "-database",
		s.database.Addr().String(),
		"-outside", s.outside.Addr().String(), fmt.Sprintf("-live=%v", k.live),
		fmt.Sprintf("-disarmed=%v", k.disarmed), fmt.Sprintf("-sdk=%v", k.sdk),
		"-window", k.window.String()}
	command := exec.CommandContext(ctx, self, args...)
	if k.group != "" {
		command = k.group.Command(ctx, self, args...)
	}
	command.Stderr = os.Stderr
	command.ExtraFiles = s.device[:]
	command.Env = append(os.Environ(), asService+"=1")
	if k.oneProcessor {
		command.Env = append(command.Env, "GOMAXPROCS=1")
	}
	c := &child{
		command: command, began: time.Now(), limited: k.group != "",
		client: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.input, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.ask = func(path string) error { return c.hold(ctx, path, s.failed) }
	s.mu.Unlock()
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &c.requests, &c.judge)
	}
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", errors.Join(err, c.stop()))
	}
	return c, nil
}

// stop ends the process by the end of its input, and waits for it.
func (c *child) stop() error {
	c.others.Wait()
	c.client.CloseIdleConnections()
	return errors.Join(c.input.Close(), c.command.Wait())
}

// hold makes a request and returns when the first bytes of its answer are here.
func (c *child) hold(ctx context.Context, path string, failed func(error)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.requests+path,
		http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.client.Do(r)
	if err != nil {
		return err
	}
	c.others.Go(func() {
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			failed(fmt.Errorf("%s: %w", path, err))
		}
	})
	return nil
}

// slow makes a slow request of parts, and returns what the service says about it.
func (c *child) slow(ctx context.Context, number int, parts []part) (o outcome, err error) {
	var id [24]byte // of the trace and the span above
	if _, err := rand.Read(id[:]); err != nil {
		return o, err
	}
	trace := hex.EncodeToString(id[:16])
	query := url.Values{}
	for _, p := range parts {
		query.Add("part", queryPart(p))
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://%s/orders/%d?%s", c.requests, number, query.Encode()), http.NoBody)
	if err != nil {
		return o, err
	}
	r.Header.Set("Traceparent", "00-"+trace+"-"+hex.EncodeToString(id[16:])+"-01")
	before := c.delayed()
	body, err := c.do(r)
	if err != nil {
		return o, err
	}
	delayed := max(0, c.delayed()-before)
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return o, err
	}
	c.others.Wait()
	err = c.ask(ctx, "/result/"+trace, &o)
	o.Delayed, o.answer = delayed, a
	return o, err
}

// ask asks the judge's side of the service.
func (c *child) ask(ctx context.Context, path string, to any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.judge+path, http.NoBody)
	if err != nil {
		return err
	}
	body, err := c.do(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, to)
}

func (c *child) do(r *http.Request) ([]byte, error) {
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", r.URL.Path, response.Status, body)
	}
	return body, err
}
