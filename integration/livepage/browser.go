// Package livepage looks at the live page as people do: in a browser. Its tests show recorded
// answers of a shop, made-up ones, and those of the real handler over a store that the test has
// filled; one test has a shop that works. The programs that measure the page and make its pictures
// use it, too.
package livepage

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// A Browser is a headless Chromium (Debian's package chromium). It shows one page at a time: a
// hidden page is not updated.
type Browser struct {
	ctx    context.Context //nolint:containedctx // chromedp's handle of the browser
	cancel context.CancelFunc
	files  string // where it saves what is downloaded
}

// StartBrowser starts one; it ends with ctx, or with Close.
func StartBrowser(ctx context.Context) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], // headless, a profile of its own, nothing in the background
		chromedp.NoSandbox, // containers and CI run as root
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
	)
	files, err := os.MkdirTemp("", "downloads")
	if err != nil {
		return nil, err
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelContext := chromedp.NewContext(ctx)
	b := &Browser{ctx: ctx, files: files, cancel: func() {
		cancelContext()
		cancelAllocator()
		_ = os.RemoveAll(files) // the system does, else
	}}
	events := true
	_, err = chromedp.CallBrowser(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: files, EventsEnabled: &events})
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("starting Chromium (Debian's package chromium): %w", err)
	}
	return b, nil
}

// tab opens an empty tab, which lasts until it is cancelled.
func (b *Browser) tab() (context.Context, context.CancelFunc, error) {
	ctx, cancel := chromedp.NewContext(b.ctx)
	late := time.AfterFunc(patience, cancel) // the context of this call is the tab's: it can have no deadline
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("opening a tab: %w", err)
	}
	return ctx, cancel, nil
}

// Close ends the browser, and closes its pages.
func (b *Browser) Close() { b.cancel() }
