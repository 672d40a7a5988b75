package livepage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/npm"
)

// The tests share these. A program has one session at a time: no two tests run at once.
var (
	shop    *Shop
	chrome  *Browser
	modules string // the folder of what is written for node

	// recorded is the shop's first session, under load.
	recorded struct {
		session int
		request string // the address of a request that it has samples of
	}
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	var err error
	if modules, err = npm.Install(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shop, err = StartShop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shop.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	if chrome, err = StartBrowser(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer chrome.Close()
	if err := record(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func record(ctx context.Context) error {
	p, err := chrome.Open(shop.Page, View{})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.StartSession(); err != nil {
		return err
	}
	stop := shop.Load(ctx, Reading)
	recorded.session, err = p.StopSession(100)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	recorded.request, err = p.Sampled()
	if err != nil {
		return err
	}
	// One that was opened is kept, though others are slower.
	return errors.Join(p.Go(recorded.request), p.Wait(`document.querySelector("#waterfall")`))
}

// A tab is a page whose test ends when something fails, and fails if the page did anything wrong.
type tab struct {
	*Page
	t *testing.T
}

// open opens a page, until the test's end.
func open(t *testing.T, url string, v View) tab {
	t.Helper()
	p, err := chrome.Open(url, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range p.Faults() {
			t.Errorf("%s: %s", url, f)
		}
		p.Close()
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

// underLoad has the shop work until the test ends.
func underLoad(t *testing.T) {
	t.Helper()
	stop := shop.Load(t.Context(), Everything)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
