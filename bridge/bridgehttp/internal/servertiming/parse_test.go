package servertiming

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []Metric // none: the value is malformed
	}{
		{"name", `metric`, []Metric{{Name: "metric"}}},
		{"all", `metric;dur=123.4;desc="d e"`, []Metric{{"metric", 123400 * time.Microsecond, true, "d e"}}},
		{"the other order", `metric;desc=d;dur=2`, []Metric{{"metric", 2 * time.Millisecond, true, "d"}}},
		{"whitespace", " metric ; dur = 1 ; desc = d , other ", []Metric{{"metric", time.Millisecond, true, "d"}, {Name: "other"}}},
		{"tabs", "\tmetric\t;\tdur\t=\t1\t,\tother\t", []Metric{{"metric", time.Millisecond, true, ""}, {Name: "other"}}},
		{"list", `a,b , c`, []Metric{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
		{"empty elements", `, ,a,, b,`, []Metric{{Name: "a"}, {Name: "b"}}},
		{"the same name twice", `a;dur=1,a;dur=2`, []Metric{{"a", time.Millisecond, true, ""}, {"a", 2 * time.Millisecond, true, ""}}},
		{"every kind of tchar", "aZ09!#$%&'*+-.^_`|~", []Metric{{Name: "aZ09!#$%&'*+-.^_`|~"}}},
		{"capitals", `A;DuR=1;DESC=D`, []Metric{{"A", time.Millisecond, true, "D"}}},

		{"quotes around separators", `a;desc="b, c;dur=1", d`, []Metric{{Name: "a", Description: "b, c;dur=1"}, {Name: "d"}}},
		{"quoted quote and backslash", `a;desc="\"b\\\" c\\"`, []Metric{{Name: "a", Description: `"b\" c\`}}},
		{"needless backslash", `a;desc="\b\c"`, []Metric{{Name: "a", Description: "bc"}}},
		{"empty quotes", `a;desc="";dur=1`, []Metric{{"a", time.Millisecond, true, ""}}},
		{"quoted duration", `a;dur="1.5"`, []Metric{{"a", 1500 * time.Microsecond, true, ""}}},
		{"tab in quotes", "a;desc=\"b\tc\"", []Metric{{Name: "a", Description: "b\tc"}}},
		{"UTF-8 in quotes", `a;desc="é☃"`, []Metric{{Name: "a", Description: "é☃"}}},
		{"invalid UTF-8 in quotes", "a;desc=\"b\xffc\xe2\x98\"", []Metric{{Name: "a", Description: "b\uFFFDc\uFFFD"}}},
		{"backslash before a rune", `a;desc="\é"`, []Metric{{Name: "a", Description: "é"}}},

		{"second dur", `a;dur=1;dur=2`, []Metric{{"a", time.Millisecond, true, ""}}},
		{"second dur, the first of no use", `a;dur=b;dur=2`, []Metric{{Name: "a"}}},
		{"second dur in capitals", `a;dur=1;DUR=2`, []Metric{{"a", time.Millisecond, true, ""}}},
		{"second desc", `a;desc=b;desc=c`, []Metric{{Name: "a", Description: "b"}}},
		{"second desc, the first empty", `a;desc="";desc=c`, []Metric{{Name: "a"}}},
		{"unknown parameters", `a;x=1;start="2,;";dur=3;durs=4`, []Metric{{"a", 3 * time.Millisecond, true, ""}}},

		{"nothing before the semicolon", `;dur=1`, nil},
		{"nothing after the semicolon", `metric;`, nil},
		{"nothing after a parameter's semicolon", `metric;dur=1;`, nil},
		{"two semicolons", `metric;;dur=1`, nil},
		{"parameter without a value", `metric;dur`, nil},
		{"nothing after the equals sign", `metric;dur=`, nil},
		{"nothing between equals sign and comma", `metric;dur= ,other`, nil},
		{"parameter without a name", `metric;=1`, nil},
		{"two equals signs", `metric;dur==1`, nil},
		{"equals sign after the name", `metric=1`, nil},
		{"another sign for the equals sign", `metric;dur:1`, nil},
		{"quoted name", `"metric"`, nil},
		{"quoted parameter name", `metric;"dur"=1`, nil},
		{"two words", `metric other`, nil},
		{"two words as value", `metric;desc=a b`, nil},
		{"characters after the quotes", `metric;desc="a"b`, nil},
		{"characters after the quotes and whitespace", `metric;desc="a" ;dur=1 b`, nil},
		{"quotes within a token", `metric;desc=a"b"`, nil},
		{"unterminated quotes", `metric;desc="a, other`, nil},
		{"one quote", `metric;desc="`, nil},
		{"the last quote escaped", `metric;desc="a\"`, nil},
		{"backslash at the end", `metric;desc="a\`, nil},
		{"single quotes around a space", `metric;desc='a b'`, nil},
		{"control character in quotes", "metric;desc=\"a\x01\"", nil},
		{"escaped control character", "metric;desc=\"a\\\x01\"", nil},
		{"DEL in quotes", "metric;desc=\"a\x7f\"", nil},
		{"line break in quotes", "metric;desc=\"a\r\n b\"", nil},
		{"line break", "metric,\nother", nil},
		{"vertical tab", "metric\v;dur=1", nil},
		{"UTF-8 as name", `é`, nil},
		{"UTF-8 as bare value", `metric;desc=é`, nil},
		{"the second of two", `metric, other;`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, malformed, dropped := Parse([]string{c.value})
			if !slices.Equal(got, c.want) || dropped != 0 {
				t.Errorf("%q is %+v, %d dropped; want %+v", c.value, got, dropped, c.want)
			}
			if (malformed == 1) != (c.want == nil) {
				t.Errorf("%q: %d malformed", c.value, malformed)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	const none = time.Duration(-1)
	for _, c := range []struct {
		dur  string
		want time.Duration
	}{
		{"0", 0},
		{"-0", none},
		{"12", 12 * time.Millisecond},
		{"0012", 12 * time.Millisecond},
		{"12.3", 12300 * time.Microsecond},
		{".5", 500 * time.Microsecond},
		{"12.", none},
		{".", none},
		{"", none},
		{"1.2.3", none},
		{"1.234567", 1234567},
		{"0.0000009", 0},
		{"1e3", time.Second},
		{"1E+3", time.Second},
		{"1.5e-1", 150 * time.Microsecond},
		{"1.001e0", 1001 * time.Microsecond}, // 1000999.99… as a product of floats
		{"1e-7", 0},
		{"1.e3", none},
		{"1e", none},
		{"1e+", none},
		{"e3", none},
		{"1e1_0", none},
		{"1_0", none},
		{"-1", none},
		{"+1", none},
		{" 1", none},
		{"1 ", none},
		{"12ms", none},
		{"1m", none},
		{"0x10", none},
		{"0x1p4", none},
		{"NaN", none},
		{"Inf", none},
		{"Infinity", none},
		{"１", none},
		{"9223372036854.775807", 1<<63 - 1},
		{"9223372036854.775808", none},
		{"9.2e12", 9_200_000_000_000 * time.Millisecond},
		{"9.3e12", none},
		{"1e400", none},
		{"1e-400", 0},
		{strings.Repeat("9", 100), none},
		{"0." + strings.Repeat("3", 100), 333333},
	} {
		t.Run(c.dur, func(t *testing.T) {
			got, malformed, _ := Parse([]string{`m;dur="` + c.dur + `"`})
			want := Metric{Name: "m", Duration: c.want, HasDuration: true}
			if c.want == none {
				want = Metric{Name: "m"}
			}
			if malformed != 0 || len(got) != 1 || got[0] != want {
				t.Errorf("got %+v, %d malformed; want %+v", got, malformed, want)
			}
		})
	}
}

func TestTokenCharacters(t *testing.T) {
	rule := regexp.MustCompile("^" + tokenRule + "$")
	for c := range 256 {
		if want := rule.MatchString(string(rune(c))); tchar(byte(c)) != want {
			t.Errorf("%q: %t, want %t", rune(c), !want, want)
		}
	}
}

// Several values: a bad one does not take the others with it.
func TestParseValues(t *testing.T) {
	for _, c := range []struct {
		name                        string
		values                      []string
		metrics, malformed, dropped int
	}{
		{"none", nil, 0, 0, 0},
		{"an empty one", []string{""}, 0, 0, 0},
		{"only commas and whitespace", []string{" ,\t, "}, 0, 0, 0},
		{"bad between good", []string{"a,b", "c,d;", "e"}, 3, 1, 0},
		{"bad ones", []string{";", "a;", "b c"}, 0, 3, 0},
		{"as long as allowed", []string{strings.Repeat("n", 4096)}, 1, 0, 0},
		{"too long", []string{strings.Repeat("n", 4097), "a"}, 1, 1, 0},
		{"as many as allowed", []string{strings.Repeat("a,", 64)}, 64, 0, 0},
		{"one too many", []string{strings.Repeat("a,", 65)}, 64, 0, 1},
		{"too many in several", []string{strings.Repeat("a,", 60), "b,b,b,b,b,b", "c"}, 64, 0, 3},
		{"too many, malformed at last", []string{strings.Repeat("a,", 65) + ";", "b"}, 1, 1, 0},
		{"malformed after too many", []string{strings.Repeat("a,", 65), "b;"}, 64, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			metrics, malformed, dropped := Parse(c.values)
			if len(metrics) != c.metrics || malformed != c.malformed || dropped != c.dropped {
				t.Errorf("%d metrics, %d malformed, %d dropped; want %d, %d, %d",
					len(metrics), malformed, dropped, c.metrics, c.malformed, c.dropped)
			}
		})
	}
	t.Run("order, and none of the bad", func(t *testing.T) {
		metrics, _, _ := Parse([]string{"a,b", "c,d;", "e"})
		if got, want := fmt.Sprint(metrics), fmt.Sprint([]Metric{{Name: "a"}, {Name: "b"}, {Name: "e"}}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// An entry made of a metric lives longer than the response: it must not hold
// the header.
func TestParseCopies(t *testing.T) {
	value := `name;desc=token, quoted;desc="a description"`
	metrics, _, _ := Parse([]string{value})
	from := uintptr(unsafe.Pointer(unsafe.StringData(value)))
	for _, m := range metrics {
		for _, s := range []string{m.Name, m.Description} {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= from && at < from+uintptr(len(value)) {
				t.Errorf("%q is a part of the header", s)
			}
		}
	}
}

// The grammar once more, in another notation.
const (
	tokenRule  = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	quotedRule = `"([\t !#-\[\]-~\x{80}-\x{10FFFF}]|\\[\t -~\x{80}-\x{10FFFF}])*"`
	metricRule = tokenRule + `([ \t]*;[ \t]*` + tokenRule + `[ \t]*=[ \t]*(` + tokenRule + `|` + quotedRule + `))*`
)

var (
	quoted  = regexp.MustCompile(quotedRule)
	grammar = regexp.MustCompile(`^[ \t]*(` + metricRule + `)?([ \t]*,[ \t]*(` + metricRule + `)?)*[ \t]*$`)
)

// Whatever comes, Parse takes what the grammar takes, keeps its bounds, and
// what it took survives being written and read again.
func FuzzParse(f *testing.F) {
	for _, value := range []string{
		`metric`, `metric;dur=123.4;desc="d"`, " metric\t; dur = 1 , other", `a;desc="b, c;dur=1", d`,
		`a;desc="\"b\\\" c\\"`, "a;desc=\"b\xffc\té\"", `a;dur=1;DUR=2;desc="";desc=b`, `, ,a,, b,`, ``,
		`;dur=1`, `metric;`, `metric;dur`, `metric;dur=`, `a;desc="b`, `a;desc="b\`, "a;desc=\"\x7f\"", `a b`,
		`a;dur=.5,b;dur=1e-7,c;dur=12.,d;dur=-1,e;dur=NaN,f;dur=0x1p4,g;dur=9223372036854.775807`,
		strings.Repeat("a,", 65), strings.Repeat("a", 65) + ";desc=" + strings.Repeat("b", 129),
	} {
		f.Add(value, `metric;dur=1`)
		f.Add(`metric;dur=1`, value)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		values := []string{first, second}
		metrics, malformed, dropped := Parse(values)
		var wantMetrics, wantMalformed int
		for _, value := range values {
			if len(value) > 4096 || !grammar.MatchString(value) {
				wantMalformed++
				continue
			}
			for element := range strings.SplitSeq(quoted.ReplaceAllString(value, "q"), ",") {
				if strings.Trim(element, " \t") != "" {
					wantMetrics++
				}
			}
		}
		if len(metrics) != min(wantMetrics, 64) || len(metrics)+dropped != wantMetrics || malformed != wantMalformed {
			t.Errorf("%q: %d metrics, %d dropped, %d malformed; want %d metrics, %d malformed",
				values, len(metrics), dropped, malformed, wantMetrics, wantMalformed)
		}
		for _, m := range metrics {
			if m.Name == "" || tokenless.MatchString(m.Name) || m.Duration < 0 || m.Duration > 0 && !m.HasDuration ||
				!utf8.ValidString(m.Description) || strings.ContainsFunc(m.Description, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				t.Errorf("%q has %#v", values, m)
			}
			text := Append(nil, m)
			again, malformed, dropped := Parse([]string{string(text)})
			if want := sanitised(m); len(again) != 1 || again[0] != want || malformed != 0 || dropped != 0 {
				t.Errorf("%#v, written as %q, is read as %#v, %d malformed, %d dropped; want %#v", m, text, again, malformed, dropped, want)
			}
		}
	})
}
