package environ

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/record"
)

// The first variable that is right counts. Each wrong one is logged once, with what counts.
func TestRead(t *testing.T) {
	const first, second = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"
	for _, c := range []struct {
		name, first, second string
		want                int
		wrong               []string
	}{
		{"unset", "", " ", 7, nil},
		{"both", " 1 ", "2", 1, nil},
		{"the second", "", "2", 2, nil},
		{"the first is wrong", "x", "2", 2, []string{first}},
		{"the second is wrong", "1", "x", 1, []string{second}},
		{"both are wrong", "x", "\xff", 7, []string{first, second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(first, c.first)
			t.Setenv(second, c.second)
			var log bytes.Buffer
			r := NewReader(slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				if got := Read(r, 7, Integer(0, 100), first, second); got != c.want {
					t.Errorf("got %d, want %d", got, c.want)
				}
			}
			lines := strings.Split(log.String(), "\n")
			if len(lines)-1 != len(c.wrong) {
				t.Fatalf("logged %q, want a line for each of %v", lines, c.wrong)
			}
			for i, name := range c.wrong {
				if !strings.Contains(lines[i], "variable="+name+" ") || !strings.HasSuffix(lines[i], fmt.Sprint(" instead=", c.want)) || !r.Wrong(name) {
					t.Errorf("logged %q, want %s and %d instead", lines[i], name, c.want)
				}
			}
		})
	}
}

// The known part of a list counts, in any case and each once. Unknown names are one line.
func TestList(t *testing.T) {
	const variable = "OTEL_PROPAGATORS"
	for _, c := range []struct {
		value   string
		want    string // joined
		unknown string // in the log; empty: nothing is logged
		instead string
	}{
		{"", "", "", ""},
		{" , ,", "", "", ""},
		{"tracecontext,baggage", "tracecontext,baggage", "", ""},
		{" TraceContext , BAGGAGE,", "tracecontext,baggage", "", ""},
		{"baggage,tracecontext,Baggage", "baggage,tracecontext", "", ""},
		{"none", "none", "", ""},
		{"tracecontext,None", "none", "", ""},
		{"tracecontext,baggage,b3", "tracecontext,baggage", "b3", "tracecontext,baggage"},
		{"b3,tracecontext,X-Ray", "tracecontext", "b3,X-Ray", "tracecontext"},
		{"b3multi", "", "b3multi", "usual"},
		{"\xff", "", "\\xff", "usual"},
	} {
		t.Run(c.value, func(t *testing.T) {
			t.Setenv(variable, c.value)
			var log bytes.Buffer
			r := NewReader(slog.New(slog.NewTextHandler(&log, nil)))
			for range 2 {
				if got := strings.Join(List(r, variable, "usual"), ","); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
			lines := strings.Count(log.String(), "\n")
			if c.unknown == "" && lines > 0 || c.unknown != "" && (lines != 1 || !strings.Contains(log.String(), c.unknown) || !strings.Contains(log.String(), "instead="+c.instead) ||
				!strings.Contains(log.String(), "set Config.Propagator")) {
				t.Errorf("logged %q, want one line about %q, if any", log.String(), c.unknown)
			}
		})
	}
}

// Parts with one logger share the lines about a variable that several of them read.
func TestReadersOfOneLogger(t *testing.T) {
	const name = "OTEL_EXPORTER_OTLP_TIMEOUT"
	t.Setenv(name, "soon")
	var log bytes.Buffer
	plain := slog.New(slog.NewTextHandler(&log, nil))
	for _, c := range []struct {
		logger *slog.Logger
		lines  int
	}{{record.SafeLogger(plain), 1}, {plain, 2}} {
		log.Reset()
		for range 2 {
			r := NewReader(c.logger)
			Read(r, 0, Integer(0, 100), name)
			if !r.Wrong(name) {
				t.Errorf("%s is not wrong", name)
			}
		}
		if n := strings.Count(log.String(), "variable="+name); n != c.lines {
			t.Errorf("%d lines, want %d:\n%s", n, c.lines, log.String())
		}
	}
}

// A variable that is in no table is shown as a secret.
func TestUnlisted(t *testing.T) {
	t.Setenv("OTEL_UNLISTED", "secret")
	if err := Error("OTEL_UNLISTED").Error(); strings.Contains(err, "secret") || !strings.Contains(err, "OTEL_UNLISTED") {
		t.Error(err)
	}
}

func TestParsers(t *testing.T) {
	for value, want := range map[string]bool{"0": true, "1": true, "0.5": true, "1e-9": true, "-0.1": false, "1.1": false, "NaN": false, "Inf": false, "half": false} {
		if _, ok := Ratio(value); ok != want {
			t.Errorf("Ratio(%q) is right: %v, want %v", value, ok, want)
		}
	}
	for value, want := range map[string]time.Duration{
		"0": 0, "1500": 1500 * time.Millisecond, "9223372036854": 9223372036854 * time.Millisecond,
		"9223372036855": -1, "-1": -1, "1s": -1, "1.5": -1, "99999999999999999999": -1,
	} {
		if got, ok := Milliseconds(0)(value); ok != (want >= 0) || ok && got != want {
			t.Errorf("Milliseconds(%q) = %v, %v; want %v", value, got, ok, want)
		}
	}
	if _, ok := Milliseconds(1)("0"); ok {
		t.Error("0 milliseconds are right where 1 is the least")
	}
	pairs := map[string]string{"a": "b", "c": "d,e=", "empty": "", "twice": "2"}
	if got, ok := Pairs(" a=b,, c = d%2Ce%3D ,empty=,twice=1,twice=2,"); !ok || !maps.Equal(got, pairs) {
		t.Errorf("Pairs gives %q, %v; want %q", got, ok, pairs)
	}
	if got, ok := Pairs("a%3D=b"); !ok || got["a="] != "b" {
		t.Errorf("Pairs gives %q, %v for a key in percent-encoding", got, ok)
	}
	for _, value := range []string{"a", "=b", "a=%zz", "%zz=a", "%ff=a", "a=\xff", "a=%ff", "\xff=b", "ok=1,a"} {
		if got, ok := Pairs(value); ok {
			t.Errorf("Pairs(%q) gives %q, want it refused", value, got)
		}
	}
	for value, want := range map[string][]string{"GET, BREW": {"GET", "BREW"}, ",GET,": {"GET"}, "": nil, ",": nil, "G T": nil, "GET,É": nil} {
		if got, ok := Methods(value); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("Methods(%q) = %q, %v; want %q", value, got, ok, want)
		}
	}
	for value, want := range map[string]bool{
		"http://h": true, "https://h:4317/p?q": true, "http://[::1]:4317": true, "http://:4317": true, "HTTP://h": true,
		"h:4317": false, "ftp://h": false, "http://": false, "http://h:99999": false, "http://h:x": false, "http://h/\xff": false, "\x00": false,
	} {
		if u, err := URL(value); (err == nil) != want || (u != nil) != want {
			t.Errorf("URL(%q) = %v, %v; want it to be right: %v", value, u, err, want)
		}
	}
}

// Whatever is accepted is UTF-8 with a key, and the same when it is written again.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{"", "a=b", "a=b,c = d%2Ce%3D ,", "a", "=b", "a=%zz", "a=\xff", "a=%ff", "\xff=b", "a=b=c", ",", "a=1,a=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		pairs, ok := Pairs(value)
		if !ok {
			if pairs != nil {
				t.Errorf("wrong, and gives %q", pairs)
			}
			return
		}
		var again []string
		for key, value := range pairs {
			if key == "" || !utf8.ValidString(key) || !utf8.ValidString(value) {
				t.Errorf("%q = %q", key, value)
			}
			again = append(again, strings.NewReplacer("=", "%3D").Replace(url.PathEscape(key))+"="+url.PathEscape(value))
		}
		if got, ok := Pairs(strings.Join(again, ",")); !ok || !maps.Equal(got, pairs) {
			t.Errorf("%q becomes %q", pairs, got)
		}
	})
}

// A URL in the wrong variable is shown without its user and password.
func TestURLInTheWrongVariable(t *testing.T) {
	for _, v := range Variables() {
		for _, value := range []string{"https://shop:hunter2@h.example/path", "grpc://:hunter2@h.example"} {
			t.Setenv(v.Name, value)
			if got := Error(v.Name).Error(); strings.Contains(got, "hunter2") || strings.Contains(got, "shop:") {
				t.Errorf("%s: %s", v.Name, got)
			}
			var log bytes.Buffer
			NewReader(slog.New(slog.NewTextHandler(&log, nil))).Warn(v.Name, "another")
			if strings.Contains(log.String(), "hunter2") {
				t.Errorf("%s: logged %s", v.Name, log.String())
			}
		}
	}
}
