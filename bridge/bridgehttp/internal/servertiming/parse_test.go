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
	const ms = time.Millisecond
	for _, c := range []struct {
		name, value string
		want        []Metric
		malformed   int
	}{
		{"name", `metric`, []Metric{{Name: "metric"}}, 0},
		{"all", `metric;dur=123.4;desc="d e"`, []Metric{{"metric", 123400 * time.Microsecond, true, "d e"}}, 0},
		{"the other order", `metric;desc=d;dur=2`, []Metric{{"metric", 2 * ms, true, "d"}}, 0},
		{"whitespace", " metric ; dur = 1 ; desc = d , other ", []Metric{{"metric", ms, true, "d"}, {Name: "other"}}, 0},
		{"tabs", "\tmetric\t;\tdur\t=\t1\t,\tother\t", []Metric{{"metric", ms, true, ""}, {Name: "other"}}, 0},
		{"list", `a,b , c`, []Metric{{Name: "a"}, {Name: "b"}, {Name: "c"}}, 0},
		{"list with parameters", `a;dur=1;desc=x,b;dur=2;desc=y`, []Metric{{"a", ms, true, "x"}, {"b", 2 * ms, true, "y"}}, 0},
		{"empty elements", `, ,a,, b,`, []Metric{{Name: "a"}, {Name: "b"}}, 0},
		{"the same name twice", `a;dur=1,a;dur=2`, []Metric{{"a", ms, true, ""}, {"a", 2 * ms, true, ""}}, 0},
		{"every kind of tchar", "aZ09!#$%&'*+-.^_`|~", []Metric{{Name: "aZ09!#$%&'*+-.^_`|~"}}, 0},
		{"capitals", `A;DuR=1;DESC=D`, []Metric{{"A", ms, true, "D"}}, 0},
		{"nothing", ``, nil, 0},
		{"blanks", " \t ", nil, 0},

		{"quotes around separators", `a;desc="b, c;dur=1", d`, []Metric{{Name: "a", Description: "b, c;dur=1"}, {Name: "d"}}, 0},
		{"quoted quote and backslash", `a;desc="\"b\\\" c\\"`, []Metric{{Name: "a", Description: `"b\" c\`}}, 0},
		{"needless backslash", `a;desc="\b\c"`, []Metric{{Name: "a", Description: "bc"}}, 0},
		{"empty quotes", `a;desc="";dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"quoted duration", `a;dur="1.5"`, []Metric{{"a", 1500 * time.Microsecond, true, ""}}, 0},
		{"blanks before the quotes", `a;desc = "b"`, []Metric{{Name: "a", Description: "b"}}, 0},
		{"blanks and tabs in quotes", "a;desc=\" \tb\t \"", []Metric{{Name: "a", Description: " \tb\t "}}, 0},
		{"UTF-8 in quotes", `a;desc="é☃"`, []Metric{{Name: "a", Description: "é☃"}}, 0},
		{"invalid UTF-8 in quotes", "a;desc=\"b\xffc\xe2\x98\"", []Metric{{Name: "a", Description: "b\uFFFDc\uFFFD"}}, 0},
		{"backslash before a rune", `a;desc="\é"`, []Metric{{Name: "a", Description: "é"}}, 0},
		{"control characters in quotes", "a;desc=\"b\x01\\\x02\x7f\r\n c\"", []Metric{{Name: "a", Description: "b\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD c"}}, 0},

		{"second dur", `a;dur=1;dur=2`, []Metric{{"a", ms, true, ""}}, 0},
		{"second dur, the first of no use", `a;dur=b;dur=2`, []Metric{{Name: "a"}}, 0},
		{"second dur, the first empty", `a;dur=;dur=2;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"second dur, the first without a value", `a;dur;dur=2;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"second dur in capitals", `a;dur=1;DUR=2`, []Metric{{"a", ms, true, ""}}, 0},
		{"second desc", `a;desc=b;desc=c`, []Metric{{Name: "a", Description: "b"}}, 0},
		{"second desc, the first in empty quotes", `a;desc="";desc=c`, []Metric{{Name: "a"}}, 0},
		{"second desc, the first empty", `a;desc=;desc=c;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"second desc, the first without a value", `a;desc;desc=c;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"unknown parameters", `a;x=1;start="2,;";dur=3;durs=4,b`, []Metric{{"a", 3 * ms, true, ""}, {Name: "b"}}, 0},

		{"nothing after the semicolon", `a;`, []Metric{{Name: "a"}}, 0},
		{"blanks after the semicolon", `a ; `, []Metric{{Name: "a"}}, 0},
		{"nothing after a parameter's semicolon", `a;dur=1;`, []Metric{{"a", ms, true, ""}}, 0},
		{"a comma after the semicolon", `a;,b`, []Metric{{Name: "a"}, {Name: "b"}}, 0},
		{"a comma at the end", `a , `, []Metric{{Name: "a"}}, 0},
		{"two semicolons", `a;;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"nothing between equals sign and comma", `a;dur= ,b`, []Metric{{Name: "a"}, {Name: "b"}}, 0},
		{"parameter without a name", `a;=1;dur=2`, []Metric{{"a", 2 * ms, true, ""}}, 0},
		{"two equals signs", `a;dur==1;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"equals sign after the name", `a=1;dur=2`, []Metric{{"a", 2 * ms, true, ""}}, 0},
		{"equals signs and quotes after the name", `a== ""b;dur=1,c`, []Metric{{"a", ms, true, ""}, {Name: "c"}}, 0},
		{"another sign for the equals sign", `a;dur:1;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"quoted parameter name", `a;"dur"=1;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"two words", `a b;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"two words as value", `a;desc=b c;dur=1,d`, []Metric{{"a", ms, true, "b"}, {Name: "d"}}, 0},
		{"two words as parameter name", `a;dur x=1;desc=d`, []Metric{{Name: "a", Description: "d"}}, 0},
		{"the second word a known name", `a;x dur=1`, []Metric{{Name: "a"}}, 0},
		{"characters after the quotes", `a;desc="b"c;dur=1`, []Metric{{"a", ms, true, "b"}}, 0},
		{"a word after the quotes", `a;desc="b" c,d`, []Metric{{Name: "a", Description: "b"}, {Name: "d"}}, 0},
		{"quotes after the quotes", `a;desc="b""c";dur=1`, []Metric{{"a", ms, true, "b"}}, 0},
		{"three quotes", `a;desc=""";dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"a backslash after the quotes", `a;desc=""\`, []Metric{{Name: "a"}}, 0},
		{"quotes within a token", `a;desc=b"c";dur=1`, []Metric{{"a", ms, true, "b"}}, 0},
		{"backslashes without quotes", `a;desc=\\;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"escaped quotes without quotes", `a;desc=\"b\";dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"single quotes around a space", `a;desc='b c';dur=1`, []Metric{{"a", ms, true, "'b"}}, 0},
		{"UTF-8 as bare value", `a;desc=é;dur=1`, []Metric{{"a", ms, true, ""}}, 0},
		{"vertical tab", "a\v;dur=1", []Metric{{"a", ms, true, ""}}, 0},
		{"unterminated quotes", `a;desc="b, c;dur=1`, []Metric{{Name: "a"}}, 0},
		{"unterminated quotes after a duration", `a;dur=1;desc="b, c`, []Metric{{"a", ms, true, ""}}, 0},
		{"one quote", `a;desc="`, []Metric{{Name: "a"}}, 0},
		{"the last quote escaped", `a;desc="b\"`, []Metric{{Name: "a"}}, 0},
		{"backslash at the end", `a;desc="b\`, []Metric{{Name: "a"}}, 0},

		{"only a semicolon", `;`, nil, 1},
		{"only an equals sign", `=`, nil, 1},
		{"only a bracket", `[`, nil, 1},
		{"only separators", `=;,;=,`, nil, 2},
		{"nothing before the semicolon", `;dur=1, b`, []Metric{{Name: "b"}}, 1},
		{"quoted name", `"a";dur=1, b`, []Metric{{Name: "b"}}, 1},
		{"UTF-8 as name", `é`, nil, 1},
		{"line break", "a,\nb", []Metric{{Name: "a"}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, malformed, dropped := Parse([]string{c.value})
			if !slices.Equal(got, c.want) || malformed != c.malformed || dropped != 0 {
				t.Errorf("%q is %+v, %d malformed, %d dropped; want %+v, %d malformed", c.value, got, malformed, dropped, c.want, c.malformed)
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
		{"12.", 12 * time.Millisecond},
		{".", none},
		{"", none},
		{"1.2.3", 1200 * time.Microsecond},
		{"1.234567", 1234567},
		{"0.0000009", 0},
		{"1e3", time.Second},
		{"1E+3", time.Second},
		{"1.5e-1", 150 * time.Microsecond},
		{"1.001e0", 1001 * time.Microsecond}, // 1000999.99… as a product of floats
		{"1e-7", 0},
		{"1.e3", time.Second},
		{"1e", time.Millisecond},
		{"1e+", time.Millisecond},
		{"e3", none},
		{"1e1_0", 10 * time.Millisecond},
		{"1_0", time.Millisecond},
		{"-1", none},
		{"+1", time.Millisecond},
		{" 1", time.Millisecond},
		{"1 ", time.Millisecond},
		{"12ms", 12 * time.Millisecond},
		{"1m", time.Millisecond},
		{"0x10", 0},
		{"0x1p4", 0},
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
		{"bad between good", []string{"a,b", "c,;d", "e"}, 4, 1, 0},
		{"bad ones", []string{";", "=a,[", "é"}, 0, 4, 0},
		{"as long as allowed", []string{strings.Repeat("n", 4096)}, 1, 0, 0},
		{"too long", []string{strings.Repeat("n", 4097), "a"}, 1, 1, 0},
		{"as many as allowed", []string{strings.Repeat("a,", 64)}, 64, 0, 0},
		{"one too many", []string{strings.Repeat("a,", 65)}, 64, 0, 1},
		{"too many in several", []string{strings.Repeat("a,", 60), "b,b,b,b,b,b", "c"}, 64, 0, 3},
		{"too many, malformed at last", []string{strings.Repeat("a,", 65) + ";", "b"}, 64, 1, 2},
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
		metrics, _, _ := Parse([]string{"a,b", "c,;d", "e"})
		if got, want := fmt.Sprint(metrics), fmt.Sprint([]Metric{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "e"}}); got != want {
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

// Whatever comes, Parse takes all that the grammar takes, keeps its bounds, and what it took survives being written and
// read again. Words that do not belong change nothing.
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
		wantMetrics, exact := 0, true
		for _, value := range values {
			if len(value) > 4096 || !grammar.MatchString(value) {
				exact = false
				continue
			}
			for element := range strings.SplitSeq(quoted.ReplaceAllString(value, "q"), ",") {
				if strings.Trim(element, " \t") != "" {
					wantMetrics++
				}
			}
		}
		if found := len(metrics) + dropped; found < wantMetrics || exact && (found != wantMetrics || malformed > 0) || len(metrics) > 64 || dropped > 0 && len(metrics) < 64 {
			t.Errorf("%q: %d metrics, %d dropped, %d malformed; want %d metrics, exactly: %t",
				values, len(metrics), dropped, malformed, wantMetrics, exact)
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
		if junk := strings.NewReplacer(",", "", ";", "").Replace(first); len(junk) < 1000 {
			want := []Metric{{"a", time.Millisecond, true, "d e"}, {Name: "b"}}
			if got, malformed, _ := Parse([]string{"a " + junk + ";dur=1 " + junk + `;desc="d e" ` + junk + ",b " + junk}); !slices.Equal(got, want) || malformed != 0 {
				t.Errorf("with %q between: %+v, %d malformed; want %+v", junk, got, malformed, want)
			}
		}
	})
}
