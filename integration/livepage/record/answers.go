package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/livepage"
)

// enoughSamples are so many that functions of each route have some, and so few that the graphs of
// the session are small.
const enoughSamples = 120

// patience is how long the shop may take to have what is recorded.
const patience = 5 * time.Minute

// A recorder asks the shop's page, and keeps the answers.
type recorder struct {
	ctx  context.Context //nolint:containedctx // of the command
	shop *livepage.Shop
	all  livepage.Recording
	hide machine

	session int
	sampled string // "trace/span" of a request with samples
	waited  string // of a request with an execution trace
}

// A row is a request in a list.
type row struct {
	Trace, Span, Name string
	Took              float64
}

func (r row) ids() string { return r.Trace + "/" + r.Span }

// An overview is the part of the page's events that the recorder needs.
type overview struct {
	Requests struct{ Requests, Slowest, Kept []row }
	Sessions struct {
		Sessions []struct {
			ID      int
			State   string
			Samples int
		}
	}
	Runtime struct{ Samples []any }
	Flight  struct{ Pending int }
}

// ask sends a request, and decodes the answer into v.
func (r *recorder) ask(method, path, body string, v any) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(r.ctx, method, r.shop.Page+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: status %s: %.300s", method, path, resp.Status, text)
	}
	if v == nil {
		return text, nil
	}
	return text, json.Unmarshal(text, v)
}

// get records the answer of a path.
func (r *recorder) get(path string, v any) error { return r.record(http.MethodGet, path, "", v) }

// call records the answer of the profiler's service.
func (r *recorder) call(procedure, argument string, v any) error {
	return r.record(http.MethodPost, "rpc/perfline.profiler.v1.ProfilerService/"+procedure,
		argument, v)
}

func (r *recorder) record(method, path, body string, v any) error {
	text, err := r.ask(method, path, body, v)
	if err == nil {
		r.all[livepage.Key(method, path, body)] = r.hide.text(text)
	}
	return err
}

// until asks for the overview until ok.
func (r *recorder) until(ok func(o overview) bool) error {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	return backend.Poll(ctx, func() (bool, error) {
		var o overview
		_, err := r.ask(http.MethodGet, "data/v1/overview", "", &o)
		return err == nil && ok(o), err
	})
}

// work has the shop do something while a session and the flight recorder run.
func (r *recorder) work() (err error) {
	const service = "rpc/perfline.profiler.v1.ProfilerService/"
	if _, err := r.ask(http.MethodPost, "flight/arm", `{"length": 0}`, nil); err != nil {
		return err
	}
	stop := r.shop.Load(r.ctx, livepage.Everything)
	var started struct{ SessionID int }
	_, err = r.ask(http.MethodPost, service+"StartProfiler",
		`{"startMode": "START_MODE_IMMEDIATE", "sampleInterval": 1}`, &started)
	if err != nil {
		return errors.Join(err, stop())
	}
	r.session = started.SessionID
	steps := []func() error{
		func() error {
			return r.until(func(o overview) bool { return o.Sessions.Sessions[0].Samples >= enoughSamples })
		},
		func() error {
			_, err := r.ask(http.MethodPost, service+"StopProfiler",
				fmt.Sprintf(`{"sessionID": %d}`, r.session), nil)
			return err
		},
		func() error {
			return r.until(
				func(o overview) bool { return o.Sessions.Sessions[0].State == "ready" })
		},
		func() error { return r.until(r.explained) },
		func() error {
			return r.until(
				func(o overview) bool { return len(o.Runtime.Samples) >= 4 })
		},
	}
	for _, step := range steps {
		if err = step(); err != nil {
			break
		}
	}
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	if _, err := r.ask(http.MethodPost, "flight/disarm", `{}`, nil); err != nil {
		return err
	}
	return r.until(func(o overview) bool { return o.Flight.Pending == 0 })
}

// explained looks for a kept request with an execution trace.
func (r *recorder) explained(o overview) bool {
	for _, k := range o.Requests.Kept {
		var detail struct{ Waits any }
		if _, err := r.ask(http.MethodGet, "data/v1/requests/"+k.ids(), "", &detail); err == nil &&
			detail.Waits != nil {
			r.waited = k.ids()
			return true
		}
	}
	return false
}

// chooseSampled chooses the slowest request with most samples, in which no sample stands for more
// time than its span took.
func (r *recorder) chooseSampled(o overview) error {
	most := 0.0
	for _, s := range o.Requests.Slowest {
		var detail struct {
			Session int
			Rows    []struct{ Sampled, Took float64 }
		}
		if _, err := r.ask(http.MethodGet, "data/v1/requests/"+s.ids(), "", &detail); err != nil {
			return err
		}
		sampled, odd := 0.0, false
		for _, row := range detail.Rows {
			sampled += row.Sampled
			odd = odd || row.Sampled > row.Took
		}
		if detail.Session == r.session && !odd && sampled > most {
			r.sampled, most = s.ids(), sampled
		}
	}
	if r.sampled == "" {
		return errors.New("no session has samples of the slowest requests: record again")
	}
	return nil
}

func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

// source is the query of a profile as the page writes it: in this order. It is the value of a
// parameter, of which each character counts.
func source(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, query(pairs[i], pairs[i+1]))
	}
	return strings.Join(all, "&")
}
