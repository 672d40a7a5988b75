package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A tally is the samples of a CPU profile, by what they belong to.
type tally struct{ telemetry, handler, rest float64 }

// plus returns the samples of both.
func (t tally) plus(u tally) tally {
	return tally{t.telemetry + u.telemetry, t.handler + u.handler, t.rest + u.rest}
}

// ratio is how many samples the telemetry has for each of the handler's own.
func (t tally) ratio() float64 { return t.telemetry / t.handler }

// work is the package of the handler's own work.
const work = "github.com/perfline/perfline/lab/internal/orders."

// neither are functions that the service calls with telemetry or without: the judge's, and those of
// net/http that telemetry wraps.
var neither = []string{"main.", "github.com/perfline/perfline/lab/", "net/http.(*ServeMux).",
	"net/http.(*response)."}

// telemetry are packages. The service uses gRPC and protobuf for telemetry only.
var telemetry = []string{
	"github.com/perfline/perfline/", "github.com/perfline/perfline.", "go.opentelemetry.io/",
	"github.com/felixge/httpsnoop.",
	"google.golang.org/grpc", "google.golang.org/protobuf",
}

// tallied tallies the samples of a CPU profile in pprof's format.
func tallied(data []byte) (t tally, err error) {
	p, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return t, err
	}
	for _, s := range p.Sample {
		*t.of(s) += float64(s.Value[0])
	}
	return t, nil
}

// of returns where a sample belongs to. The innermost function that is of telemetry, of the
// handler's work or of neither decides.
func (t *tally) of(s *profile.Sample) *float64 {
	for _, l := range s.Location {
		for _, at := range l.Line {
			in := func(prefix string) bool { return strings.HasPrefix(at.Function.Name, prefix) }
			switch {
			case in(work):
				return &t.handler
			case slices.ContainsFunc(neither, in):
				return &t.rest
			case slices.ContainsFunc(telemetry, in):
				return &t.telemetry
			}
		}
	}
	return &t.rest
}
