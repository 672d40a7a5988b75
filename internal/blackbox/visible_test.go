package blackbox

import (
	"strings"
	"testing"
)

// lastWords has frames of a hidden function in each place where the Go runtime writes one.
const lastWords = `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47]

goroutine 7 gp=0x2be1 m=0 mp=0x20 [running, locked to thread]:
panic({0x1, 0x2})
	/go/src/runtime/panic.go:1 +0x1
example.com/hidden/v2.(*T).Do[...](0x1, {0x2, 0x3})
	/src/hidden/do.go:2 +0x1d
example.com/hidden/v2.inlined(...)
	/src/hidden/do.go:3
main.work(0x1)
	/src/shop/work.go:4 +0x1d
...5 frames elided...
created by example.com/hidden/v2.Go in goroutine 1
	/src/hidden/go.go:5 +0x1d

goroutine 1 [select]:
main.main()
	/src/shop/main.go:6 +0x1d
created by runtime.main

runtime stack:
example.com/hidden/v2.signal()
	/src/hidden/signal.go:7 +0x1

rax    0x0
goroutine 9 [running]:
main.last()
	/src/shop/last.go:8 +0x1
example.com/hidden/v2.Cu`

// A hidden function is nowhere in the report, also where the text ends within its name. Visible functions stay.
func TestVisible(t *testing.T) {
	shows := func(function string) bool {
		return strings.HasPrefix(function, "main.") || strings.HasPrefix(function, "runtime.")
	}
	r := &Report{Kind: Panic, Crash: &Crash{Kind: Panic, Message: "nil", Function: "example.com/hidden/v2.(*T).Do", File: "hidden/do.go", Line: 2}, Words: lastWords}
	v := r.Visible(shows)
	if text := v.Words + v.Sentence(); strings.Contains(text, "hidden/") {
		t.Errorf("a hidden function is in %s", text)
	}
	const hides = "... functions that Config.Sessions.Policy.Modules hides: "
	for _, want := range []string{
		"pc=0x47]\n\ngoroutine 7 ", "panic({0x1, 0x2})\n\t/go/src/runtime/panic.go:1 +0x1\n" + hides + "2\nmain.work(0x1)\n\t/src/shop/work.go:4 +0x1d\n...5 frames elided...\n" + hides + "1\n\ngoroutine 1 ",
		"runtime stack:\n" + hides + "1\n\nrax    0x0\n", "main.last()\n\t/src/shop/last.go:8 +0x1\n" + hides + "1",
	} {
		if !strings.Contains(v.Words, want) {
			t.Errorf("got\n%s\nwant in it\n%s", v.Words, want)
		}
	}
	all := func(string) bool { return true }
	if v := r.Visible(all); v.Words != lastWords || v.Crash != r.Crash {
		t.Errorf("all are shown: %s", v.Words)
	}
	if r.Words != lastWords || r.Crash.Line != 2 {
		t.Error("the report itself changed")
	}
	if v := (&Report{}).Visible(shows); v.Words != "" || v.Crash != nil {
		t.Errorf("of nothing: %+v", v)
	}
}
