package integration

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/chromium"
)

// A serverTiming is a browser's PerformanceServerTiming.
type serverTiming struct {
	Name        string  `json:"name"`
	Duration    float64 `json:"duration"` // milliseconds
	Description string  `json:"description"`
}

// TestBrowserSeesServerTiming loads a page of the shop into a headless Chromium:
// what the page can read of its own request is what the trace in Jaeger says.
func TestBrowserSeesServerTiming(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	j := ownJaeger(ctx, t)

	cmd, _ := shop(buildShop(t), j, t.Name())
	cmd.Stdout = nil
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	line, err := out.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "shop: ")
	if err != nil || !ok {
		t.Fatalf("the shop says %q, %v; want its address", line, err)
	}
	timings := loadPage(ctx, t, address+"/?page=3")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest := new(strings.Builder)
	if _, err := out.WriteTo(rest); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the shop: %v\n%s", err, rest)
	}

	var traceID, spanID string
	metrics := map[string][]serverTiming{}
	for _, m := range timings {
		metrics[m.Name] = append(metrics[m.Name], m)
	}
	if len(metrics["traceparent"]) != 1 {
		t.Fatalf("the browser sees %v, want one metric traceparent", timings)
	}
	traceparent := metrics["traceparent"][0].Description
	if n, err := fmt.Sscanf(strings.ReplaceAll(traceparent, "-", " "), "00 %s %s 03", &traceID, &spanID); n != 2 || err != nil {
		t.Fatalf("traceparent: %q", traceparent)
	}
	delete(metrics, "traceparent")
	traces, err := j.Traces(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string][]backend.Span{}
	for _, s := range traces[traceID] {
		if s.ID == spanID {
			if s.Name != "GET /{$}" || s.ParentID != "" {
				t.Errorf("the browser was told of span %q under %q, want the request's own", s.Name, s.ParentID)
			}
			continue
		}
		spans[s.Name] = append(spans[s.Name], s)
	}
	if len(traces[traceID]) < 3 || len(metrics) != len(spans) {
		t.Errorf("the browser sees %v, the trace has %v; want the same", metrics, spans)
	}
	for _, name := range []string{"render", "sql.conn.query"} {
		if len(metrics[name]) != 1 || len(spans[name]) != 1 {
			t.Errorf("%q: the browser sees %v, Jaeger has %v; want one each", name, metrics[name], spans[name])
			continue
		}
		seen := time.Duration(metrics[name][0].Duration * float64(time.Millisecond))
		if off := seen - spans[name][0].Duration; off < -time.Microsecond || off > time.Microsecond { // both are rounded to microseconds
			t.Errorf("%q took %v for the browser and %v in Jaeger", name, seen, spans[name][0].Duration)
		}
	}
	t.Logf("the browser sees %v\nof trace %s", timings, traceID)
}

// loadPage is what a page can read of its own request when it is loaded.
func loadPage(ctx context.Context, t *testing.T, url string) []serverTiming {
	t.Helper()
	tab, stop, err := chromium.Start(ctx, chromedp.DisableGPU)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	timings, err := chromedp.Run(tab, chromedp.Evaluate[[]serverTiming](
		`performance.getEntriesByType("navigation")[0].serverTiming.map(metric => metric.toJSON())`))
	if err != nil {
		t.Fatalf("serverTiming: %v", err)
	}
	return timings
}
