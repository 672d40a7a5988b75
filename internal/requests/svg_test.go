package requests_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/requests"
)

// The picture is well-formed whatever names come, and shows every span and mark.
func TestSVG(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 1, 0, `<script>"&'`, 0, 100*ms, event("<mark>\x00", 20*ms), event("late", 900*ms)))
	r.OnEnd(span(1, 2, 1, "child", -10*ms, 200*ms))
	r.OnEnd(span(1, 3, 2, "backwards", 60*ms, 50*ms))
	var b bytes.Buffer
	if err := requests.WriteSVG(&b, r.Requests()[0].Request()); err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	d := xml.NewDecoder(&b)
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok {
			elements[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Value, "-") {
					t.Errorf("%s has %s=%q: outside the picture", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	if elements["path"] != 2 || elements["text"] != 1+2*3 || elements["script"] != 0 {
		t.Errorf("elements are %v", elements)
	}
}

// However long names are and however deep spans are, a picture is small, and names are in their column.
func TestSVGCutsNames(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	long := strings.Repeat("\x00é", 1000) // 39 spans of these fit into the bytes for one trace
	r.OnEnd(span(1, 1, 0, long, 0, 100*ms))
	for i := 2; i < 40; i++ {
		r.OnEnd(span(1, i, i-1, long, 0, 100*ms, event(long, 20*ms)))
	}
	var b bytes.Buffer
	names := 0
	if err := requests.WriteSVG(&b, r.Requests()[0].Request()); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 40*700 {
		t.Errorf("%d bytes for 39 spans", b.Len())
	}
	for line := range strings.Lines(b.String()) {
		var x int
		if _, err := fmt.Sscanf(line, `<text x="%d"`, &x); err != nil || strings.Contains(line, "text-anchor") {
			continue // a duration
		}
		name, bar, _ := strings.Cut(line[strings.IndexByte(line, '>')+1:], "</text>")
		var bars float64
		if _, err := fmt.Sscanf(bar, `<rect x="%f"`, &bars); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if n := utf8.RuneCountInString(name); float64(x+7*n) > bars || n < 5 || !strings.HasSuffix(name, "…") {
			t.Errorf("at %d there is %q, want some characters, before the bars at %.0f", x, name, bars)
		}
		names++
	}
	if names != 39 {
		t.Errorf("%d spans have a name and a bar, want 39", names)
	}
}

var errFull = errors.New("full")

// full is a writer that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// When the writer fails, because the client is gone say, no more spans are drawn.
func TestSVGStopsWithItsWriter(t *testing.T) {
	r := requests.NewRecent(requests.Config{MaxSpans: 10_000, MaxBytes: 64 << 20})
	r.OnEnd(span(1, 1, 0, "request", 0, 100*ms))
	const spans = 2000
	for i := 2; i <= spans; i++ {
		r.OnEnd(span(1, i, 1, "child", 0, 50*ms))
	}
	q := r.Requests()[0].Request()
	all := testing.AllocsPerRun(1, func() {
		if err := requests.WriteSVG(io.Discard, q); err != nil {
			t.Error(err)
		}
	})
	failing := testing.AllocsPerRun(1, func() {
		if err := requests.WriteSVG(full{}, q); !errors.Is(err, errFull) {
			t.Errorf("error %v, want the writer's", err)
		}
	})
	if len(q.Spans) != spans || failing > all/10 {
		t.Errorf("%d spans take %v allocations, and %v with a writer that fails, want a tenth", len(q.Spans), all, failing)
	}
}
