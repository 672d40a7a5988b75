package livepage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/perfline/perfline/integration/backend"
)

// patience is how long a page may take for one thing. Only a page that hangs takes as long.
const patience = 10 * time.Minute

// A View is the size and the scheme of a page.
type View struct {
	Width, Height int64   // in CSS pixels; 0 means 1280 by 800
	Scale         float64 // device pixels of a CSS pixel; 0 means 1
	Dark          bool
}

// A Page is a tab. Its methods are for one goroutine at a time.
type Page struct {
	ctx    context.Context //nolint:containedctx // chromedp's handle of the tab
	cancel context.CancelFunc
	files  string

	mu     sync.Mutex // guards what follows
	faults *faults    // of the document that is shown
}

// Open opens a page in a tab of its own. Faults of the page are recorded from its beginning.
func (b *Browser) Open(url string, v View) (*Page, error) {
	ctx, cancel, err := b.tab()
	if err != nil {
		return nil, err
	}
	p := &Page{ctx: ctx, cancel: cancel, files: b.files, faults: newFaults(url)}
	if err := p.open(url, v); err != nil {
		cancel()
		return nil, fmt.Errorf("opening %s: %w", url, err)
	}
	return p, nil
}

func (p *Page) open(url string, v View) error {
	if err := chromedp.Listen(p.ctx, func(event any) { p.seen().see(event) }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, audits.Enable, cdp.Empty{}); err != nil {
		return err
	}
	if err := p.Look(v); err != nil {
		return err
	}
	return p.do(chromedp.Navigate(url))
}

// leave ends the page that is shown: its server may end. The address is an empty page of the same
// site, so that the browser goes on with the process of the tab, which has compiled the scripts.
func (p *Page) leave(empty string) error { return p.do(chromedp.Navigate(empty)) }

// reopen shows a page in a tab that is empty. It is much cheaper than a tab of its own.
func (p *Page) reopen(url string, v View) error {
	p.mu.Lock()
	p.faults = newFaults(url)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	// others may have been opened meanwhile
	if _, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{}); err != nil {
		return err
	}
	if err := p.Look(v); err != nil {
		return err
	}
	return p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 0, 0),
		chromedp.Navigate(url))
}

func (p *Page) seen() *faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// Close closes the tab.
func (p *Page) Close() { p.cancel() }

// do does something that must be done in time.
func (p *Page) do(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// Look changes how the page is looked at. Nothing on it moves by itself, for pictures and
// checks to be of what comes to rest.
func (p *Page) Look(v View) error {
	if v.Width == 0 {
		v.Width, v.Height = 1280, 800
	}
	if v.Scale == 0 {
		v.Scale = 1
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}})
	if err != nil {
		return err
	}
	return p.do(chromedp.EmulateViewport(v.Width, v.Height, chromedp.EmulateScale(v.Scale)))
}

// Eval is the value of a JavaScript expression, of a promise what it comes to.
func Eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("%s: %w", expression, err)
	}
	return v, nil
}

// Wait waits until a JavaScript expression is true. It asks from outside: the page's policy
// forbids what chromedp.Poll does in it.
func (p *Page) Wait(expression string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	var missing error // an element of the expression was not there at the last try
	err := backend.Poll(ctx, func() (bool, error) {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`Boolean(`+expression+`)`))
		if missing = nil; err == nil {
			return ok, nil
		}
		switch text := err.Error(); {
		case strings.Contains(text, "Inspected target navigated"): // asked between two documents
			return false, nil
		case strings.Contains(text, "TypeError: Cannot read properties of null"):
			missing = err
			return false, nil
		}
		return false, err
	})
	if err == nil {
		return nil
	}
	text, textErr := Eval[string](p, `location.href + "\n" + document.body.innerText`)
	return fmt.Errorf("waiting for %s: %w\nthe page shows\n%.3000s", expression,
		errors.Join(err, missing, textErr), text)
}

// Click clicks in the middle of the first element that a selector of CSS matches.
func (p *Page) Click(css string) error {
	if err := p.do(chromedp.Click(chromedp.CSS(css))); err != nil {
		return fmt.Errorf("clicking %s: %w", css, err)
	}
	return nil
}

// Press presses keys one after the other; kb has those that are no characters.
func (p *Page) Press(keys string, modifiers ...chromedp.Modifier) error {
	if err := p.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...))); err != nil {
		return fmt.Errorf("pressing %q: %w", keys, err)
	}
	return nil
}

// Go shows another view of the page; a hash is its address. The mouse is taken away first: it
// would be over something of that view.
func (p *Page) Go(hash string) error {
	if err := p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 0, 0)); err != nil {
		return err
	}
	_, err := Eval[bool](p, fmt.Sprintf(`(() => { location.hash = %q; return true })()`, hash))
	return err
}

// Back goes back to what was shown before.
func (p *Page) Back() error { return p.do(chromedp.NavigateBack()) }

// Picture is what is to be seen, as PNG.
func (p *Page) Picture() ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}

// Faults are what the page did wrong until now: see faults.
func (p *Page) Faults() []string { return p.seen().all() }
