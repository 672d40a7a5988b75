package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The failures of a run are the innermost tests that failed, the tests that a panic kept from running, and the packages that did not
// compile. A failure of one run only is named, and counts as passed.
func TestResults(t *testing.T) {
	list := []byte(`{"Action":"output","Package":"m","Output":"TestA\n"}
{"Action":"output","Package":"m","Output":"TestB\n"}
{"Action":"output","Package":"m","Output":"TestC\n"}
{"Action":"output","Package":"m/sub","Output":"TestD\n"}
{"Action":"output","Package":"m","Output":"ok  \tm\t0.1s\n"}
`)
	run := []byte(`not an event
{"Action":"run","Package":"m","Test":"TestA"}
{"Action":"pass","Package":"m","Test":"TestA/one"}
{"Action":"fail","Package":"m","Test":"TestA/two"}
{"Action":"fail","Package":"m","Test":"TestA"}
{"Action":"fail","Package":"m"}
{"Action":"skip","Package":"m/sub","Test":"TestD"}
{"Action":"pass","Package":"m/sub"}
{"Action":"fail","Package":"m/broken"}
`)
	r := &results{left: []string{"TestC"}}
	if err := r.read("m", list, run); err != nil {
		t.Fatal(err)
	}
	if want := []string{"TestA/two", "TestB", "broken/(package)"}; r.passed != 1 || r.skipped != 1 || !slices.Equal(r.failed, want) {
		t.Errorf("%d passed, %d skipped, failed %q, want 1, 1 and %q", r.passed, r.skipped, r.failed, want)
	}
	r.agree([]string{"TestA/two", "TestB"})
	if r.passed != 2 || len(r.failed) != 2 || !strings.Contains(r.text("s", nil), "broken/(package): failed in one run") {
		t.Errorf("with another run, %d passed, failed %q:\n%s", r.passed, r.failed, r.text("s", nil))
	}
	r.failed = append(r.failed, "broken/(package)")
	wrong := r.judge(map[string]string{"TestA/two": "decision: x", "TestB": "decision: x", "TestC": "does not apply: x", "TestE": "decision: y"})
	if len(wrong) != 2 || !strings.Contains(wrong[0].Error(), "broken/(package): failed, and no line says why") || !strings.Contains(wrong[1].Error(), `TestE: a line says "decision: y"`) {
		t.Errorf("judged %v", wrong)
	}
	if err := (&results{}).read("m", nil, []byte(`{"Action":"fail","Package":"m"}`)); err == nil {
		t.Error("a suite without a test that passed has no error")
	}
}

// What does not compile goes, and nothing else.
func TestRemoveDeclarations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x_test.go")
	const text = `package x

import (
	"a"
	"b"
)

var one = 1

// TestA has a comment.
func TestA(t *testing.T) {
	b.B(private)
}

func helper() {}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tests, err := removeDeclarations(path, []int{4, 12})
	if err != nil || !slices.Equal(tests, []string{"TestA"}) {
		t.Errorf("removed %q, error %v", tests, err)
	}
	left, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(left); strings.Contains(s, `"a"`) || strings.Contains(s, "private") || !strings.Contains(s, `"b"`) || !strings.Contains(s, "var one = 1") || !strings.Contains(s, "func helper") {
		t.Errorf("left is\n%s", s)
	}
	if _, err := removeDeclarations(path, []int{100}); err == nil {
		t.Error("a line beyond the file is no error")
	}
}

// A line that is no decision is an error that shows it.
func TestReadDecisions(t *testing.T) {
	all, err := readDecisions("decisions.txt")
	if err != nil || len(all["sdk"]) == 0 {
		t.Errorf("%d decisions about the SDK, error %v", len(all["sdk"]), err)
	}
	path := filepath.Join(t.TempDir(), "decisions.txt")
	for _, text := range []string{"sdk TestA: because\n", "sdk TestA\n", "sdk TestA: decision: a\nsdk TestA: decision: b\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readDecisions(path); err == nil || !strings.Contains(err.Error(), "TestA") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
