package exporter

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// The picture is well-formed whatever names come, and shows every span and mark.
func TestSVG(t *testing.T) {
	r := NewRecent(RecentConfig{})
	r.OnEnd(span(1, 1, 0, `<script>"&'`, 0, 100*ms, event("<mark>\x00", 20*ms), event("late", 900*ms)))
	r.OnEnd(span(1, 2, 1, "child", -10*ms, 200*ms))
	r.OnEnd(span(1, 3, 2, "backwards", 60*ms, 50*ms))
	var b bytes.Buffer
	if err := r.Requests()[0].WriteSVG(&b); err != nil {
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
