package viewers

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perfline/perfline/integration/firefox"
)

// A shownThread is what the Firefox Profiler shows of a thread.
type shownThread struct {
	Name    string
	Process string `json:"processName"`
	PID     string
	TID     int
	Markers []shownMarker `json:"-"`
	// Functions are the innermost of samples, with the milliseconds spent in them. Categories likewise.
	Functions, Categories []string `json:"-"`
}

type shownMarker struct {
	Name, Category string
	Type           string  `json:"markerType"`
	Start          float64 // since profiling began
	Duration       float64 // 0 of an instant
	Fields         []struct{ Label, FormattedValue string }
}

// String is everything on a line.
func (m shownMarker) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q %g+%g", m.Category, m.Type, m.Name, m.Start, m.Duration)
	for _, f := range m.Fields {
		fmt.Fprintf(&b, " %s=%s", f.Label, f.FormattedValue)
	}
	return b.String()
}

// shownThreads opens a file. It returns all threads that are shown of it, in the file's order.
func shownThreads(ctx context.Context, t *testing.T, file []byte) ([]shownThread, error) {
	t.Helper()
	p, err := firefox.Open(ctx, modules, save(t, "profile.json", file))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list struct {
		Threads []struct {
			shownThread
			Handle string `json:"threadHandle"`
			Index  int    `json:"threadIndex"`
		}
	}
	if err := p.Threads(&list); err != nil {
		return nil, err
	}
	threads := make([]shownThread, len(list.Threads))
	for _, th := range list.Threads {
		var markers struct {
			Flat []shownMarker `json:"flatMarkers"`
		}
		if err := p.Markers(&markers, th.Handle); err != nil {
			return nil, err
		}
		var samples struct {
			Breakdown struct {
				Categories []struct {
					Name    string
					Samples float64
				}
			} `json:"categoryBreakdown"`
			Functions []struct {
				Name string
				Self float64 `json:"selfSamples"`
			} `json:"topFunctionsBySelf"`
		}
		if err := p.Samples(&samples, th.Handle); err != nil {
			return nil, err
		}
		th.Markers = markers.Flat
		for _, fn := range samples.Functions {
			if fn.Self > 0 {
				th.Functions = append(th.Functions, fn.Name+" "+strconv.FormatFloat(fn.Self, 'g', -1, 64))
			}
		}
		for _, c := range samples.Breakdown.Categories {
			th.Categories = append(th.Categories, c.Name+" "+strconv.FormatFloat(c.Samples, 'g', -1, 64))
		}
		slices.Sort(th.Functions)
		slices.Sort(th.Categories)
		threads[th.Index] = th.shownThread
	}
	return threads, nil
}

// checkFirefox compares what is shown with what the golden file's session has.
func checkFirefox(ctx context.Context, t *testing.T, file []byte) error {
	t.Helper()
	threads, err := shownThreads(ctx, t, file)
	if err != nil {
		return err
	}
	var got strings.Builder
	for _, th := range threads {
		fmt.Fprintf(&got, "%s/%s %s/%d %q %q\n", th.Process, th.Name, th.PID, th.TID, th.Functions, th.Categories)
		for _, m := range th.Markers {
			fmt.Fprintf(&got, "\t%s\n", m)
		}
	}
	const ids = "trace id=000000000000000000000000000000ab span id=00000000000000cd"
	want := `process/process 1/1 ["[no stack] 10" "cgo 10" "main.main 10"] ["Go 10" "Other 10" "Syscall 10"]
	Measure Measure "tick" 0+60
gc/gc 2/2 [] []
	GC GC "gc" 5+1 cycle=3
GET /products/{id}/GET /products/{id} 3/3 ["main.render 20" "runtime.gopark 10"] ["GC 10" "Go 10" "Idle 10"]
	Request Request "GET /products/{id}" -20+70 ` + ids + ` self time=20ms profiling overhead=1.500μs attr.type=no schema's attr.cause=text ok=true
	Measure Measure "render" 0+30 ` + ids + ` self time=20ms page.rows=12 page.budget=100ms n=2 ratio=0.50
	Mark Mark "cache.miss" 12+0 ` + ids + ` when=2026-01-02T03:04:05Z n=1
	Mark Mark "cache.miss" 31+0 ` + ids + ` n (text)=many huge=18446744073709551615 least=-9223372036854775808 nan=NaN
	Call Call "GET" 32+18 ` + ids + `
	Mark Server "db" 32+0 ` + ids + ` duration=1ms
GET /products/{id}/GET /products/{id} · 2 3/4 [] []
	Measure Measure "prefetch" 2+28 ` + ids + `
`
	if got.String() != want {
		return fmt.Errorf("the Firefox Profiler shows\n%s\nwant\n%s", got.String(), want)
	}
	return nil
}

// The Firefox Profiler opens a session, and shows all threads, markers with all their fields, and samples with their
// functions, times and categories.
func TestFirefox(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := checkFirefox(ctx, t, golden(t, "session.firefox.json")); err != nil {
		t.Fatal(err)
	}
}

// The check above finds files that are wrong in one place.
func TestFirefoxRefuses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	good := golden(t, "session.firefox.json")
	for name, c := range map[string]struct{ old, changed string }{
		"no table":               {`"funcTable"`, `"functions"`},
		"another version's file": {`"preprocessedProfileVersion":61`, `"preprocessedProfileVersion":66`},
		"a later time":           {`"startTime":[0,20,32`, `"startTime":[0,21,32`},
		"a field left out":       {`,{"key":"page.rows","format":"integer"}`, ``},
		"another weight":         {`"weight":[10,10,10]`, `"weight":[10,10,11]`},
	} {
		bad := bytes.Replace(good, []byte(c.old), []byte(c.changed), 1)
		if bytes.Equal(good, bad) {
			t.Fatalf("%s: %s is not in the file", name, c.old)
		}
		if err := checkFirefox(ctx, t, bad); err == nil {
			t.Errorf("%s: nothing wrong is found", name)
		} else {
			t.Logf("%s: %.300s", name, err)
		}
	}
}
