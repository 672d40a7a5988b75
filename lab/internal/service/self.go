package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"runtime/pprof"
	"strconv"
	"time"
)

// A Load is what a process asks itself for.
type Load struct {
	Path     string
	Rate     int // requests a second; 0: as many as it can
	Length   time.Duration
	Profiled bool // with a CPU profile
}

// A Loaded is what came of a Load.
type Loaded struct {
	Requests int
	Lasted   time.Duration
	Profile  []byte // in pprof's format, if one was asked for
}

func (l Load) query() string {
	return url.Values{
		"path": {l.Path}, "rate": {strconv.Itoa(l.Rate)}, "length": {l.Length.String()},
		"profiled": {strconv.FormatBool(l.Profiled)},
	}.Encode()
}

func parseLoad(q url.Values) (l Load, err error) {
	l.Path = q.Get("path")
	var errs [3]error
	l.Rate, errs[0] = strconv.Atoi(q.Get("rate"))
	l.Length, errs[1] = time.ParseDuration(q.Get("length"))
	l.Profiled, errs[2] = strconv.ParseBool(q.Get("profiled"))
	return l, errors.Join(errs[:]...)
}

// A loader makes requests to the process that it is in. It keeps its connections, as clients do.
type loader struct {
	client *http.Client
	self   string // the service's URL
	want   []byte
	flush  func(context.Context) error
}

func (c loader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l, err := parseLoad(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	did, err := c.load(r.Context(), l)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(did) // a reader that fails reports it
}

func (c loader) load(ctx context.Context, l Load) (did Loaded, err error) {
	var profile bytes.Buffer
	if l.Profiled {
		if err := pprof.StartCPUProfile(&profile); err != nil {
			return did, err
		}
		defer pprof.StopCPUProfile() // a second time after an error only
	}
	ask := func(ctx context.Context) error { return Get(ctx, c.client, c.self+l.Path) }
	if c.want != nil {
		ask = func(ctx context.Context) error {
			return Expect(ctx, c.client, c.self+l.Path,
				c.want)
		}
	}
	begin := time.Now()
	took, err := Repeat(ctx, l.Rate, l.Length, ask)
	did = Loaded{Requests: len(took), Lasted: time.Since(begin)}
	if err = cmp.Or(err, ctx.Err()); err == nil && l.Profiled {
		err = c.flush(ctx) // delivery is a part of the requests
		pprof.StopCPUProfile()
		did.Profile = profile.Bytes()
	}
	return did, err
}
