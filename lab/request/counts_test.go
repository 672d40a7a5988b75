package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestExceeded(t *testing.T) {
	limits := map[string]float64{"a: modules": 20, "a: MB added to a program": 12.5}
	within := []count{{what: "a: modules", got: 20}, {what: "a: MB added to a program", got: 12.4}, {what: "b: modules", got: 99, peers: true}}
	if err := exceeded(within, limits); err != nil {
		t.Errorf("counts within their limits: %v", err)
	}
	for _, c := range []struct {
		name, want string
		counts     []count
	}{
		{"above", "a: modules: is 21, must be at most 20", []count{{what: "a: modules", got: 21}, within[1]}},
		{"a tenth above", "a: MB added to a program: is 12.6, must be at most 12.5", []count{within[0], {what: "a: MB added to a program", got: 12.6}}},
		{"without a limit", "c: modules: is 3 and has no limit", append(within[:2:2], count{what: "c: modules", got: 3})},
		{"not counted", "a: MB added to a program: has a limit and was not counted", within[:1]},
	} {
		err := exceeded(c.counts, limits)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
		}
	}
}

// Every shape and variant delivers all its spans, and nothing else.
func TestSpansArrive(t *testing.T) {
	if err := environment(false, queueSize); err != nil {
		t.Fatal(err)
	}
	for _, s := range shapes {
		for _, v := range variants {
			t.Run(s.name+", "+v.name, func(t *testing.T) {
				if _, err := take(t.Context(), v, s, 0, 8); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The judge's variants deliver all spans of a handler that works, and answer the same.
func TestJudgedVariants(t *testing.T) {
	if err := environment(false, queueSize); err != nil {
		t.Fatal(err)
	}
	for _, v := range judged {
		t.Run(v.name, func(t *testing.T) {
			if _, err := take(t.Context(), v, working, 0, 8); err != nil {
				t.Error(err)
			}
			o, err := openSlot(t.Context(), v, working)
			if err != nil {
				t.Fatal(err)
			}
			h := o.load.handler
			if o.pipeline.around != nil {
				h = o.pipeline.around(h)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, o.load.next())
			o.requests++
			if !bytes.Equal(w.Body.Bytes(), working.answer) {
				t.Errorf("the answer is %q, want %q", w.Body, working.answer)
			}
			if err := o.close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each signal delivers all spans, too. The command counts checks its allocations: the race detector changes them.
func TestSignals(t *testing.T) {
	if err := environment(false, queueSize); err != nil {
		t.Fatal(err)
	}
	for _, w := range signalRows() {
		t.Run(w.name, func(t *testing.T) {
			if _, err := take(t.Context(), w.variant, w.shape, 0, 8); err != nil {
				t.Error(err)
			}
		})
	}
}

// A variant that loses a span is a failure, not a cheap one.
func TestLostSpan(t *testing.T) {
	s := shapes[0]
	s.spans++
	if _, err := take(t.Context(), variants[1], s, 0, 8); err == nil || !strings.Contains(err.Error(), "spans arrived") {
		t.Errorf("the error is %v, want one that says how many spans arrived", err)
	}
}
