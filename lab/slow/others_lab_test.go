//go:build lab

package main

import (
	"bytes"
	"errors"
	"io"
	"testing"

	xtrace "golang.org/x/exp/trace"
)

// While the waits recorder is armed, net/http/pprof writes a trace of its own, and the judge is content.
func TestLabPprofTrace(t *testing.T) {
	around, err := newSurroundings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := around.close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := startChild(t.Context(), around, kindOfChild{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	}()
	var written []byte
	done := make(chan error, 1)
	go func() {
		response, err := c.client.Get("http://" + c.judge + "/debug/pprof/trace?seconds=1")
		if err == nil {
			written, err = io.ReadAll(response.Body)
			_ = response.Body.Close()
		}
		done <- err
	}()
	s := series{causes: causes[:1]} // a mutex
	for traced := false; !traced; {
		r, err := c.run(t.Context(), 0, s.planned(0))
		if err != nil {
			t.Fatal(err)
		}
		if r.verdict.books != "" || !r.verdict.right() && r.why == "" {
			t.Errorf("the sentence is %q, %s", r.Sentence, r.verdict.books)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			traced = true
		default:
		}
	}
	// The other trace is complete, and has the same requests.
	theirs, err := xtrace.NewReader(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	roots := 0
	for {
		e, err := theirs.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == xtrace.EventLog && e.Log().Category == "perfline.root" {
			roots++
		}
	}
	if roots == 0 {
		t.Error("the trace of net/http/pprof has no request")
	}
}
