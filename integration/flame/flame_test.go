package flame

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func stack(names ...string) (all []*profile.Location) {
	for _, n := range names { // innermost first
		all = append(all, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: n}}}})
	}
	return all
}

func TestDraw(t *testing.T) {
	p := &profile.Profile{Sample: []*profile.Sample{
		{Location: stack("a/b.leaf", "a/b.mid", "main.main"), Value: []int64{3, 30e6}},
		{Location: stack("a/b.mid", "main.main"), Value: []int64{1, 10e6}},
		{Location: stack("x.<y>"), Value: []int64{6, 60e6}},
		{Location: stack("x.rare"), Value: []int64{0, 1}},
	}}
	var out strings.Builder
	if err := Draw(&out, "GET /{id} & more", p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"GET /{id} &amp; more, 100ms of CPU",
		"<title>all: 100ms, 100.0 %</title>",
		`<title>x.&lt;y&gt;: 60ms, 60.0 %</title><rect x="0.0"`, // the widest first
		`<title>main.main: 40ms, 40.0 %</title><rect x="576.0"`,
		`<title>a/b.mid: 40ms, 40.0 %</title><rect x="576.0" y="70"`,
		`<title>a/b.leaf: 30ms, 30.0 %</title>`,
		">b.leaf</text>",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	if strings.Contains(out.String(), "rare") {
		t.Error("a frame too narrow to see was drawn")
	}
	d := xml.NewDecoder(strings.NewReader(out.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, &out)
		}
	}
	if err := Draw(io.Discard, "x", &profile.Profile{}); err == nil {
		t.Error("a profile without samples was drawn")
	}
}
