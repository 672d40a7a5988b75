// Package chromium starts the Chromium in which tests look at pages.
package chromium

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// shell is Chromium without its user interface, of Debian's package chromium-headless-shell. The
// shell shows the same pages for about 60 % of the processor time. A script in /usr/bin has the
// same name, and is not used: a signal that ends the script leaves the shell running.
const shell = "/usr/lib/chromium/chromium-headless-shell"

// Start starts a browser without a window. It is the shell, if that is installed, or else any
// Chromium that chromedp finds. The context is its first tab, and contexts of chromedp below it are
// others. It ends with ctx, or with stop, which waits for its end.
func Start(ctx context.Context, more ...chromedp.ExecAllocatorOption) (tab context.Context,
	stop func(), err error) {
	// headless, a profile of its own, nothing in the background
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // containers and CI run as root
		chromedp.Flag("disable-component-update", true),
	)
	if program, err := exec.LookPath(shell); err == nil {
		options = append(options, chromedp.ExecPath(program))
	}
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, append(options, more...)...)
	tab, cancelTab := chromedp.NewContext(ctx)
	stop = func() {
		cancelTab()
		cancelAllocator()
	}
	if err := chromedp.Do(tab); err != nil {
		stop()
		return nil, nil, fmt.Errorf(
			"starting Chromium (Debian's package chromium-headless-shell or chromium): %w", err)
	}
	return tab, stop, nil
}
