package sessions_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// Data of a type is with events of that type only.
func TestDetail_SP24(t *testing.T) {
	p := newTape(t)
	child := p.NewChild()
	fetch := slog.String(observer.InitiatorKey, "fetch")
	p.add(child, of{}, observer.Navigation, "/x/7", 0, 100*ms, slog.String("method", "GET"), slog.String("route", "/x/{id}"))
	p.add(child, of{}, observer.Resource, "http://api.test/q?a="+strings.Repeat("b", 2000), 10*ms, 20*ms, fetch, slog.String("method", "POST"))
	p.add(child, of{}, observer.Server, "db", 10*ms, 15*ms)
	p.add(child, of{}, observer.Resource, "select", 30*ms, 40*ms, slog.String(observer.InitiatorKey, "db"))
	p.add(child, of{}, observer.Measure, "work", 50*ms, 60*ms, slog.Int("n", 1), slog.Any("", value{}))
	p.add(child, of{}, observer.Mark, strings.Repeat("ä", 1000), 70*ms, 70*ms, slog.String("long", strings.Repeat("x", 2000)))
	s := p.session(p.traceOf(shot{80 * ms, "f", 0, 0}))
	var got []string
	for _, tl := range s.Timelines() {
		for e := range s.All(tl.ID) {
			keys := []string{e.Type.String(), strings.TrimLeft(e.Name, "ä")}
			for _, a := range e.Detail {
				keys = append(keys, a.Key)
				if len(a.Value.String()) > 1024 {
					t.Errorf("%s of %s has %d bytes", a.Key, e.Type, len(a.Value.String()))
				}
			}
			if len(e.Name) > 1024 {
				t.Errorf("a name of %d bytes", len(e.Name))
			}
			got = append(got, strings.Join(keys, " "))
		}
	}
	want := []string{
		"SAMPLES f samples weight",
		"REQUEST GET /x/{id} path method route",
		"CALL POST api.test url initiatorType method",
		"SERVER db duration",
		"CALL select initiatorType",
		"MEASURE work n inner",
		"MARK … long",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	server := ask(t, s, sessions.Query{Timeline: 2, Types: []sessions.EventType{sessions.Server}})[0]
	if server.Interval.End != server.Interval.Start || server.Detail[0].Value.Duration() != 5*time.Millisecond {
		t.Errorf("the other process's time is %+v", server)
	}
}

// Strings in groups are cut, too, and groups without a name are taken apart.
func TestDetailInGroups(t *testing.T) {
	long := strings.Repeat("x", 2000)
	p := newTape(t)
	p.add(nil, of{}, observer.Mark, "m", 0, 0,
		slog.Group("g", slog.String("k", long), slog.Group("h", slog.Any("", value{}), slog.Group("", slog.String("l", long)))))
	d := ask(t, p.session(nil), sessions.Query{Timeline: 1})[0].Detail
	text := func(v slog.Value, path ...string) string {
		for _, key := range path {
			i := slices.IndexFunc(v.Group(), func(a slog.Attr) bool { return a.Key == key })
			if i < 0 {
				t.Fatalf("no %q of %v", key, path)
			}
			v = v.Group()[i].Value
		}
		return v.String()
	}
	if k, l := text(d[0].Value, "k"), text(d[0].Value, "h", "l"); len(k) != 1024 || len(l) != 1024 {
		t.Errorf("texts of %d and %d bytes in groups", len(k), len(l))
	}
	if got := text(d[0].Value, "h", "inner"); got != "v" {
		t.Errorf("in a group a value is %q", got)
	}
}

// value stands for attributes.
type value struct{}

func (value) LogValue() slog.Value { return slog.GroupValue(slog.String("inner", "v")) }
