package livepage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// Download clicks on a link, waits until the browser has saved what it leads to, and
// returns that with the name that the server gave it.
func (p *Page) Download(css string) (name string, file []byte, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	begun := chromedp.BrowserEvents(ctx, browser.DownloadWillBegin)
	progress := chromedp.BrowserEvents(ctx, browser.DownloadProgress)
	if err := p.Click(css); err != nil {
		return "", nil, err
	}
	id := ""
	for e, err := range begun {
		if err != nil {
			return "", nil, fmt.Errorf("no download of %s begins: %w", css, err)
		}
		id, name = e.GUID, e.SuggestedFilename
		break
	}
	for e, err := range progress {
		if err != nil {
			return "", nil, fmt.Errorf("the download of %s does not end: %w", name, err)
		}
		if e.GUID != id || e.State == browser.DownloadProgressStateInProgress {
			continue
		}
		if e.State != browser.DownloadProgressStateCompleted {
			return "", nil, fmt.Errorf("the download of %s: %s after %.0f bytes", name, e.State,
				e.ReceivedBytes)
		}
		break
	}
	file, err = os.ReadFile(filepath.Join(p.files, filepath.Base(id))) // the browser names files so
	return name, file, err
}
