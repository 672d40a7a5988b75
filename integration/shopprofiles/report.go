package shopprofiles

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/integration/backend"
)

// Route is the route whose requests are looked into: one in some seconds of it is slow,
// because of what its own code computes.
const Route = "GET /search"

// A Report is what arrived of a run of the shop.
type Report struct {
	Run        string // names it: a label in Pyroscope, an attribute of the resource in Jaeger
	Output     string
	ProcessCPU time.Duration    // user and kernel time of the shop's whole life
	Whole      *profile.Profile // the CPU profile that Pyroscope has
	Asked      []Share          // what was asked for by /debug/pprof/profile
	Functions  []Function       // by self time in Pyroscope, the hottest first
	Routes     map[string]time.Duration
	OfRoute    *profile.Profile // of Route
	Types      []string         // of profiles
	Slow       []Slow           // requests of Route that have samples, the slowest first
	Spans      int              // of Route in Jaeger
}

// A Share is CPU time in a profile, and what the process used meanwhile.
type Share struct{ CPU, Of time.Duration }

// A Function is a function's self time, as go tool pprof tells it of two profiles of the
// same run.
type Function struct {
	Name                string
	Pyroscope, OnDemand float64 // percent
}

// A Slow is a request.
type Slow struct {
	TraceID, SpanID string
	ProfileID       string // the attribute pyroscope.profile.id of its span in Jaeger
	Took            time.Duration
	Profile         *backend.FlameGraph
}

// query is a query for the run's profiles, with more conditions on labels.
func (r *Report) query(more string) backend.Query {
	return backend.Query{Labels: fmt.Sprintf(`{service_name="shop", run=%q%s}`, r.Run, more)}
}

func (r *Report) collect(ctx context.Context, o Options, dir, onDemand string) (err error) {
	if r.Whole, err = o.Pyroscope.Profile(ctx, r.query("")); err != nil {
		return err
	}
	if r.OfRoute, err = o.Pyroscope.Profile(ctx, r.query(fmt.Sprintf(", span_name=%q", Route))); err != nil {
		return err
	}
	series, err := o.Pyroscope.Series(ctx, r.query(""))
	if err != nil {
		return err
	}
	types := map[string]bool{}
	for _, s := range series {
		types[s["__profile_type__"]] = true
	}
	r.Types = slices.Sorted(maps.Keys(types))
	names, err := o.Pyroscope.LabelValues(ctx, r.query(""), "span_name")
	if err != nil {
		return err
	}
	r.Routes = map[string]time.Duration{}
	for _, name := range names {
		p, err := o.Pyroscope.Profile(ctx, r.query(fmt.Sprintf(", span_name=%q", name)))
		if err != nil {
			return err
		}
		r.Routes[name] = total(p)
	}
	if err := r.compare(ctx, dir, onDemand); err != nil {
		return err
	}
	return r.findSlow(ctx, o)
}

var topLine = regexp.MustCompile(`^\s*\S+\s+([0-9.]+)%\s+[0-9.]+%\s+\S+\s+[0-9.]+%\s+(.*?)(?: \((?:partial-)?inline\))?$`)

// top is the flat share of each function by go tool pprof, in percent.
func top(ctx context.Context, file string) (map[string]float64, error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0", "-sample_index=cpu", file).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	shares := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		if m := topLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			percent, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, err
			}
			shares[m[2]] += percent
		}
	}
	return shares, nil
}

// compare holds Pyroscope's profile against the one that the shop took of its load.
func (r *Report) compare(ctx context.Context, dir, onDemand string) error {
	file := filepath.Join(dir, "pyroscope.pprof")
	w, err := os.Create(file)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := r.Whole.Write(w); err != nil {
		return err
	}
	pushed, err := top(ctx, file)
	if err != nil {
		return err
	}
	own, err := top(ctx, onDemand)
	if err != nil {
		return err
	}
	for name, share := range pushed {
		r.Functions = append(r.Functions, Function{Name: name, Pyroscope: share, OnDemand: own[name]})
	}
	slices.SortFunc(r.Functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Pyroscope, a.Pyroscope), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

// findSlow looks for the route's requests in Jaeger, and by their ids in Pyroscope.
func (r *Report) findSlow(ctx context.Context, o Options) error {
	traces, err := o.Jaeger.Traces(ctx, "shop")
	if err != nil {
		return err
	}
	for id, spans := range traces {
		for _, s := range spans {
			if s.Name != Route || s.Process["run"] != r.Run {
				continue
			}
			r.Spans++
			profileID, _ := s.Tags["pyroscope.profile.id"].(string)
			r.Slow = append(r.Slow, Slow{TraceID: id, SpanID: s.ID, ProfileID: profileID, Took: s.Duration})
		}
	}
	slices.SortFunc(r.Slow, func(a, b Slow) int { return cmp.Compare(b.Took, a.Took) })
	var sampled []Slow
	for _, s := range r.Slow[:min(len(r.Slow), 50)] {
		if s.Profile, err = o.Pyroscope.SpanProfile(ctx, r.query(""), s.SpanID); err != nil {
			return err
		}
		if s.Profile.Total > 0 {
			sampled = append(sampled, s)
		}
	}
	r.Slow = sampled
	return nil
}

// Write writes the report as tables.
func (r *Report) Write(w io.Writer) {
	whole := total(r.Whole)
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	fmt.Fprintf(w, "CPU time in Pyroscope %v, used by the process %v: %.3f\n", ms(whole), ms(r.ProcessCPU), float64(whole)/float64(r.ProcessCPU))
	for _, a := range r.Asked {
		fmt.Fprintf(w, "/debug/pprof/profile meanwhile: CPU time %v, used by the process %v: %.3f\n", ms(a.CPU), ms(a.Of), float64(a.CPU)/float64(a.Of))
	}
	fmt.Fprintf(w, "\n| function | in Pyroscope | in the shop's own session |\n|---|---:|---:|\n")
	for _, f := range r.Functions[:min(len(r.Functions), 5)] {
		fmt.Fprintf(w, "| %s | %.1f %% | %.1f %% |\n", f.Name, f.Pyroscope, f.OnDemand)
	}
	fmt.Fprintf(w, "\n| route, by `span_name` | CPU | share |\n|---|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(r.Routes)) {
		if r.Routes[name] == 0 {
			continue // goroutines had it when they were counted
		}
		fmt.Fprintf(w, "| %s | %v | %.1f %% |\n", name, ms(r.Routes[name]), float64(r.Routes[name])/float64(whole)*100)
	}
	if len(r.Slow) > 0 {
		s := r.Slow[0]
		fmt.Fprintf(w, "\nA slow request: %s, %v, trace %s.\nIts span in Jaeger has pyroscope.profile.id %s; Pyroscope has %v of CPU for span_id %s:\n",
			Route, s.Took, s.TraceID, s.ProfileID, ms(time.Duration(s.Profile.Total)), s.SpanID)
		for _, name := range slices.SortedFunc(maps.Keys(s.Profile.Self), func(a, b string) int { return cmp.Compare(s.Profile.Self[b], s.Profile.Self[a]) }) {
			fmt.Fprintf(w, "  %v %s\n", ms(time.Duration(s.Profile.Self[name])), name)
		}
	}
	fmt.Fprintf(w, "\nTypes of profiles:\n")
	for _, t := range r.Types {
		fmt.Fprintf(w, "  %s\n", t)
	}
}
