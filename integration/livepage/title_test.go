package livepage

import (
	"fmt"
	"testing"
)

// The title, which tabs and histories of browsers show, has the name of what is shown.
func TestTitles(t *testing.T) {
	p := openRecorded(t, recorded.request, View{})
	p.wait(`document.querySelector("#ran .flames") && document.title === document.querySelector("h1").innerText + " · perfline"`)
	if n := eval[int](p, `document.querySelectorAll("#flame [aria-expanded]").length`); n > 0 {
		t.Errorf("%d calls of the flame graph can be collapsed, assistive technology is told", n)
	}
	for hash, want := range map[string]string{
		fmt.Sprintf("#/sessions/%d", recorded.session):        fmt.Sprintf("Session %d · perfline", recorded.session),
		fmt.Sprintf("#/profile?session=%d", recorded.session): fmt.Sprintf("Profile of session %d · perfline", recorded.session),
		"#/counters": "Counters · perfline",
	} {
		p.show(hash)
		p.wait(fmt.Sprintf(`document.title === %q`, want))
	}
}
