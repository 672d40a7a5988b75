package livepage

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// faults lists the forbidden actions of a page. It must not throw an uncaught exception, write
// to the console, or breach its Content-Security-Policy. It must not send a request to another
// host, or get an answer without that policy.
type faults struct {
	base string // where everything comes from

	mu      sync.Mutex // guards what follows
	found   []string
	answers int
}

// policy is what the answers' Content-Security-Policy has at least.
var policy = []string{"default-src 'none'", "script-src 'self'",
	"require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'",
	"base-uri 'none'"}

func newFaults(url string) *faults {
	base, _, _ := strings.Cut(url, "#")
	return &faults{base: base}
}

// see is told of each event of the tab.
func (f *faults) see(event any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		f.add("exception: %s", text)
	case *runtime.EventConsoleAPICalled:
		f.add("console.%s is called: %v", e.Type, e.Args)
	case *log.EventEntryAdded:
		f.add("%s, %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		if g := e.Issue.Details.GenericIssueDetails; g != nil &&
			g.ErrorType == audits.GenericIssueErrorTypeNavigationEntryMarkedSkippable {
			return // who only looks makes no gestures: Page.Go
		}
		details, _ := json.Marshal(e.Issue.Details) // which are nothing but strings and numbers
		f.add("the browser's issue %s: %s", e.Issue.Code, details)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, f.base) {
			f.add("a request to %.200s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		f.answers++
		f.answer(e.Response)
	}
}

func (f *faults) answer(r *network.Response) {
	for name, value := range r.Headers {
		if !strings.EqualFold(name, "Content-Security-Policy") {
			continue
		}
		for _, part := range policy {
			if !strings.Contains(fmt.Sprint(value), part) {
				f.add("the policy of %s is without %s", r.URL, part)
			}
		}
		return
	}
	f.add("no Content-Security-Policy: %s", r.URL)
}

func (f *faults) add(format string, args ...any) {
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

func (f *faults) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := slices.Clone(f.found)
	if f.answers == 0 {
		found = append(found, "no answer was seen, so that nothing is known")
	}
	return found
}
