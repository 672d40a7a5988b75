//go:build lab

package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/integration/backend"
)

// A shopReport is what a run of the shop left in the backends.
type shopReport struct {
	run        string           // a label in Pyroscope, an attribute of the resource in Jaeger
	processCPU time.Duration    // of the shop's whole life
	whole      map[string]int64 // CPU time by function, as Pyroscope has it
	session    map[string]int64 // the same in the session that the shop recorded of its load
	onDemand   []cpuShare       // profiles by /debug/pprof/profile
	routes     map[string]time.Duration
	types      []string      // of profiles
	slow       []sampledSpan // requests of slowRoute that have samples, the slowest first
	spans      int           // of slowRoute in Jaeger
}

// A cpuShare is the CPU time in a profile, and what the process used meanwhile.
type cpuShare struct{ sampled, used time.Duration }

// A sampledSpan is a request's span in Jaeger, and its profile in Pyroscope.
type sampledSpan struct {
	traceID, spanID string
	profileID       string // the span's attribute pyroscope.profile.id
	took            time.Duration
	profile         *backend.FlameGraph
}

// query is a query for the run's profiles, with more conditions on labels.
func (r *shopReport) query(more string) backend.Query {
	return backend.Query{Labels: fmt.Sprintf(`{service_name="shop", run=%q%s}`, r.run, more)}
}

func cpuTime(functions map[string]int64) time.Duration { return time.Duration(total(functions)) }

// collect asks the backends for what arrived, and reads the session's file.
func (r *shopReport) collect(ctx context.Context, session string) error {
	data, err := os.ReadFile(session)
	if err != nil {
		return err
	}
	own, err := profile.ParseData(data)
	if err != nil {
		return err
	}
	r.session = byFunction(own, anySample)
	whole, err := pyroscope.Profile(ctx, r.query(""))
	if err != nil {
		return err
	}
	r.whole = byFunction(whole, anySample)
	series, err := pyroscope.Series(ctx, r.query(""))
	if err != nil {
		return err
	}
	types := map[string]bool{}
	for _, s := range series {
		types[s["__profile_type__"]] = true
	}
	r.types = slices.Sorted(maps.Keys(types))
	names, err := pyroscope.LabelValues(ctx, r.query(""), "span_name")
	if err != nil {
		return err
	}
	r.routes = map[string]time.Duration{}
	for _, name := range names {
		p, err := pyroscope.Profile(ctx, r.query(fmt.Sprintf(", span_name=%q", name)))
		if err != nil {
			return err
		}
		r.routes[name] = cpuTime(byFunction(p, anySample))
	}
	return r.findSlow(ctx)
}

// findSlow looks for the route's requests in Jaeger, and by their ids in Pyroscope.
func (r *shopReport) findSlow(ctx context.Context) error {
	traces, err := jaeger.Traces(ctx, "shop")
	if err != nil {
		return err
	}
	var all []sampledSpan
	for id, spans := range traces {
		for _, s := range spans {
			if s.Name == slowRoute && s.Process["run"] == r.run {
				profileID, _ := s.Tags["pyroscope.profile.id"].(string)
				all = append(all, sampledSpan{traceID: id, spanID: s.ID, profileID: profileID, took: s.Duration})
			}
		}
	}
	r.spans = len(all)
	slices.SortFunc(all, func(a, b sampledSpan) int { return cmp.Compare(b.took, a.took) })
	for _, s := range all[:min(len(all), 50)] {
		if s.profile, err = pyroscope.SpanProfile(ctx, r.query(""), s.spanID); err != nil {
			return err
		}
		if s.profile.Total > 0 {
			r.slow = append(r.slow, s)
		}
	}
	return nil
}

// percent is a function's share of all.
func percent(functions map[string]int64, name string) float64 {
	return float64(functions[name]) / float64(total(functions)) * 100
}

// byTime are the functions with the most time first.
func byTime(functions map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(functions), func(a, b string) int {
		return cmp.Or(cmp.Compare(functions[b], functions[a]), cmp.Compare(a, b))
	})
}

// String is the report as docs/lab/profiles.md shows it.
func (r *shopReport) String() string {
	var w strings.Builder
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	all := cpuTime(r.whole)
	fmt.Fprintf(&w, "CPU time in Pyroscope %v, used by the process %v: %.3f\n", ms(all), ms(r.processCPU), float64(all)/float64(r.processCPU))
	for _, p := range r.onDemand {
		fmt.Fprintf(&w, "/debug/pprof/profile meanwhile: CPU time %v, used by the process %v: %.3f\n", ms(p.sampled), ms(p.used), float64(p.sampled)/float64(p.used))
	}
	fmt.Fprint(&w, "\n| function | in Pyroscope | in the shop's own session |\n|---|---:|---:|\n")
	for _, name := range byTime(r.whole)[:min(len(r.whole), 5)] {
		fmt.Fprintf(&w, "| %s | %.1f %% | %.1f %% |\n", name, percent(r.whole, name), percent(r.session, name))
	}
	fmt.Fprint(&w, "\n| route, by `span_name` | CPU | share |\n|---|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.routes)) {
		if r.routes[name] > 0 { // else only its goroutines were counted
			fmt.Fprintf(&w, "| %s | %v | %.1f %% |\n", name, ms(r.routes[name]), float64(r.routes[name])/float64(all)*100)
		}
	}
	if len(r.slow) > 0 {
		s := r.slow[0]
		fmt.Fprintf(&w, "\nA slow request: %s, %v, trace %s.\nIts span in Jaeger has pyroscope.profile.id %s; Pyroscope has %v of CPU for span_id %s:\n",
			slowRoute, s.took, s.traceID, s.profileID, ms(time.Duration(s.profile.Total)), s.spanID)
		for _, name := range byTime(s.profile.Self) {
			fmt.Fprintf(&w, "  %v %s\n", ms(time.Duration(s.profile.Self[name])), name)
		}
	}
	fmt.Fprintf(&w, "\nTypes of profiles:\n  %s\n", strings.Join(r.types, "\n  "))
	return w.String()
}
