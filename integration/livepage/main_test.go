package livepage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/perfline/perfline/integration/npm"
)

// The tests share these. The browser shows one page at a time: no two tests run at once.
var (
	chrome  *Browser
	modules string // the folder of what is written for node

	axeScript string // axe-core
	replayed  *replay
	fronted   *front
	empty     *httptest.Server // has a page with nothing
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if modules, err = npm.Install(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	script, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	axeScript = string(script)
	if err := readRecorded(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if chrome, err = StartBrowser(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer chrome.Close()
	replayed, fronted = newReplay(), newFront()
	empty = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html>") // the page may be gone
	}))
	for _, s := range []*httptest.Server{replayed.server, fronted.server, empty} {
		defer func() {
			s.CloseClientConnections()
			s.Close()
		}()
	}
	return m.Run()
}

// A tab is a page whose test ends when something fails, and fails if the page did anything wrong.
type tab struct {
	*Page
	t *testing.T
}

// open opens a page, until the test's end.
func open(t *testing.T, url string, v View) tab {
	t.Helper()
	p := openWithFaults(t, url, v)
	t.Cleanup(func() {
		for _, f := range p.Faults() {
			t.Errorf("%s: %s", url, f)
		}
	})
	return p
}

// idle are tabs without a page.
var idle []*Page

// openWithFaults opens a page which the test has make faults, such as a question that is refused.
func openWithFaults(t *testing.T, url string, v View) tab {
	t.Helper()
	var p *Page
	var err error
	if n := len(idle); n > 0 {
		p, idle = idle[n-1], idle[:n-1]
		err = p.reopen(url, v)
	} else {
		p, err = chrome.Open(url, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.leave(empty.URL); err != nil || t.Failed() {
			p.Close()
			return
		}
		idle = append(idle, p)
	})
	return tab{p, t}
}

func (p tab) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p tab) wait(expression string) { p.t.Helper(); p.must(p.Wait(expression)) }
func (p tab) click(css string)       { p.t.Helper(); p.must(p.Click(css)) }
func (p tab) show(hash string)       { p.t.Helper(); p.must(p.Go(hash)) }

// text is what an element shows.
func (p tab) text(css string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q).innerText`, css))
}

func eval[T any](p tab, expression string) T {
	p.t.Helper()
	v, err := Eval[T](p.Page, expression)
	p.must(err)
	return v
}
