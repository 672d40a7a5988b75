// Package livepage looks at the live page as people do: in a browser. Its tests show recorded
// answers of a shop, made-up ones, and those of the real handler over a store that the test has
// filled; one test has a shop that works. The programs that measure the page and make its pictures
// use it, too.
package livepage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/perfline/perfline/integration/chromium"
)

// A Browser is a headless Chromium. It shows one page at a time: a
// hidden page is not updated.
type Browser struct {
	ctx    context.Context //nolint:containedctx // chromedp's handle of the browser
	cancel func()
	files  string // where it saves what is downloaded
}

// StartBrowser starts one; it ends with ctx, or with Close.
func StartBrowser(ctx context.Context) (*Browser, error) {
	files, err := os.MkdirTemp("", "downloads")
	if err != nil {
		return nil, err
	}
	ctx, stop, err := chromium.Start(ctx, chromedp.DisableGPU)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(files))
	}
	b := &Browser{ctx: ctx, files: files, cancel: func() {
		stop()
		_ = os.RemoveAll(files) // the system does, else
	}}
	events := true
	_, err = chromedp.CallBrowser(ctx, browser.SetDownloadBehavior,
		browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: files,
			EventsEnabled: &events})
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("where Chromium saves files: %w", err)
	}
	return b, nil
}

// tab opens an empty tab, which lasts until it is cancelled.
func (b *Browser) tab() (context.Context, context.CancelFunc, error) {
	ctx, cancel := chromedp.NewContext(b.ctx)
	// the context of this call is the tab's: it can have no deadline
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, nil, fmt.Errorf("opening a tab: %w", err)
	}
	return ctx, cancel, nil
}

// Close ends the browser, and closes its pages.
func (b *Browser) Close() { b.cancel() }
