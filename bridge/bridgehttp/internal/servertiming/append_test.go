package servertiming

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestAppend(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	dur := func(d time.Duration) Metric { return Metric{Name: "m", Duration: d, HasDuration: true} }
	desc := func(s string) Metric { return Metric{Name: "m", Description: s} }
	for _, c := range []struct {
		name string
		m    Metric
		want string
	}{
		{"name", Metric{Name: "miss"}, `miss`},
		{"every kind of tchar", Metric{Name: "aZ09!#$%&'*+-.^_`|~"}, "aZ09!#$%&'*+-.^_`|~"},
		{"all", Metric{Name: "db", Duration: 1234 * us, HasDuration: true, Description: "two rows"}, `db;dur=1.234;desc="two rows"`},
		{"a duration that is none", Metric{Name: "m", Duration: ms}, `m`},

		{"empty name", Metric{}, `_`},
		{"empty name, description", Metric{Description: "d"}, `_;desc=d`},
		{"name with a space", Metric{Name: "load cart"}, `load_cart;desc="load cart"`},
		{"name with a space, description", Metric{Name: "load cart", Description: "d"}, `load_cart;desc=d`},
		{"name with separators", Metric{Name: `a,b;c="d"`}, `a_b_c__d_;desc="a,b;c=\"d\""`},
		{"name with a rune of two bytes", Metric{Name: "é"}, `__;desc="?"`},
		{"name that would end the field", Metric{Name: "a\r\nSet-Cookie: x"}, `a__Set-Cookie__x;desc="a??Set-Cookie: x"`},
		{"name of 64 bytes", Metric{Name: strings.Repeat("n", 64)}, strings.Repeat("n", 64)},
		{"name of 65 bytes", Metric{Name: strings.Repeat("n", 65)}, strings.Repeat("n", 64) + ";desc=" + strings.Repeat("n", 65)},
		{"name of 200 bytes", Metric{Name: strings.Repeat("n", 200)}, strings.Repeat("n", 64) + ";desc=" + strings.Repeat("n", 128)},

		{"0", dur(0), `m;dur=0`},
		{"negative", dur(-ms), `m;dur=0`},
		{"least", dur(math.MinInt64), `m;dur=0`},
		{"rounded down", dur(1499), `m;dur=0.001`},
		{"rounded up", dur(1500), `m;dur=0.002`},
		{"rounded to 0", dur(499), `m;dur=0`},
		{"rounded to a whole", dur(ms - 1), `m;dur=1`},
		{"one decimal", dur(500 * us), `m;dur=0.5`},
		{"two decimals", dur(10 * us), `m;dur=0.01`},
		{"zero between", dur(1001 * us), `m;dur=1.001`},
		{"zeros before the dot stay", dur(100 * ms), `m;dur=100`},
		{"an hour", dur(time.Hour + us), `m;dur=3600000.001`},
		{"greatest", dur(math.MaxInt64), `m;dur=9223372036854.775`},

		{"token", desc("HIT"), `m;desc=HIT`},
		{"comma, semicolon, equals", desc("a,b;c=d"), `m;desc="a,b;c=d"`},
		{"quote and backslash", desc(`say "a\b"`), `m;desc="say \"a\\b\""`},
		{"only a quote", desc(`"`), `m;desc="\""`},
		{"whitespace", desc(" "), `m;desc=" "`},
		{"control characters", desc("a\x00\t\r\n\x1f\x7fb"), `m;desc="a??????b"`},
		{"runes", desc("é☃😀"), `m;desc="???"`},
		{"invalid UTF-8", desc("a\xff\xe2\x98"), `m;desc="a???"`},
		{"description of 128 bytes", desc(strings.Repeat("d", 128)), `m;desc=` + strings.Repeat("d", 128)},
		{"description of 129 bytes", desc(strings.Repeat("d", 129)), `m;desc=` + strings.Repeat("d", 128)},
		{"quoted description of 129 bytes", desc(strings.Repeat(`"`, 129)), `m;desc="` + strings.Repeat(`\"`, 128) + `"`},
		{"cut behind a rune", desc("é" + strings.Repeat("d", 128)), `m;desc="?` + strings.Repeat("d", 127) + `"`},
		{"a token before the cut", desc(strings.Repeat("d", 128) + ","), `m;desc=` + strings.Repeat("d", 128)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Append([]byte("before, "), c.m)); got != "before, "+c.want {
				t.Errorf("got  %s\nwant before, %s", got, c.want)
			}
		})
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 512)
	for _, m := range []Metric{
		{Name: "db", Duration: 1234 * time.Microsecond, HasDuration: true},
		{Name: "cache", Description: `a "quoted" description, ☃`},
		{Name: "a name that is no token", Duration: time.Hour, HasDuration: true},
	} {
		t.Run(m.Name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, func() { Append(dst, m) }); got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
	}
}

// The grammar of what Append writes.
var written = regexp.MustCompile("^" + tokenRule + `(;dur=(0|[1-9][0-9]*)(\.[0-9]{0,2}[1-9])?)?(;desc=(` + tokenRule + `|"([ !#-\[\]-~]|\\["\\])+"))?$`)

// Whatever the metric, what is written keeps to the grammar, adds no field and
// no metric, and is read back as sanitised says.
func FuzzAppend(f *testing.F) {
	f.Add("db", int64(1234567), true, "two rows")
	f.Add("", int64(-1), true, "")
	f.Add("a, b;dur=1", int64(math.MaxInt64), true, "\"\\\r\n\x00\x7f")
	f.Add("é\xff", int64(math.MinInt64), true, "é\xff☃")
	f.Add(strings.Repeat("n", 65), int64(999_500), true, strings.Repeat("d", 129))
	f.Add("m", int64(999_999_999_500), false, strings.Repeat("\"", 127)+"é,")
	f.Fuzz(func(t *testing.T, name string, duration int64, has bool, description string) {
		m := Metric{name, time.Duration(duration), has, description}
		got := string(Append(nil, m))
		if !written.MatchString(got) || strings.ContainsFunc(got, unprintable) {
			t.Errorf("%#v is written as %q", m, got)
		}
		metrics, malformed, dropped := Parse([]string{got})
		if want := sanitised(m); len(metrics) != 1 || metrics[0] != want || malformed != 0 || dropped != 0 {
			t.Errorf("%q is read as %#v, %d malformed, %d dropped; want %#v", got, metrics, malformed, dropped, want)
		}
	})
}

// sanitised is what remains of m on its way through the header.
func sanitised(m Metric) Metric {
	name := tokenless.ReplaceAllString(latin1(m.Name), "_")
	if name == "" {
		name = "_"
	}
	if name = name[:min(len(name), 64)]; m.Description == "" && m.Name != "" && name != m.Name {
		m.Description = m.Name
	}
	var description []rune
	for _, r := range m.Description {
		if unprintable(r) {
			r = '?'
		}
		description = append(description, r)
	}
	description = description[:min(len(description), 128)]
	var d time.Duration
	if m.HasDuration && m.Duration > 0 {
		d = m.Duration / time.Microsecond
		if m.Duration%time.Microsecond >= 500 && d < math.MaxInt64/1000 {
			d++
		}
		d = time.Duration(d.Nanoseconds() * 1000)
	}
	return Metric{name, d, m.HasDuration, string(description)}
}

var tokenless = regexp.MustCompile("[^!#$%&'*+.^_`|~0-9A-Za-z-]")

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// latin1 makes a rune of each byte.
func latin1(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}
