package livepage

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Memory is what a page takes in the browser.
type Memory struct {
	JavaScript uint64 // bytes of its heap in use, after a garbage collection
	Elements   int
}

// Memory collects the page's garbage, and returns what is left.
func (p *Page) Memory() (m Memory, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		return m, err
	}
	heap, err := chromedp.Call(ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		return m, err
	}
	m.JavaScript = uint64(heap.UsedSize)
	m.Elements, err = Eval[int](p, `document.querySelectorAll("*").length`)
	return m, err
}
