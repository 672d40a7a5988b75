package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// SpanCount is how many spans of a service Jaeger has, those that it was sent twice
// once, of as many traces as its memory holds.
func (j *Jaeger) SpanCount(ctx context.Context, service string) (int, error) {
	return j.SpanCountSince(ctx, service, time.Now().Add(-time.Hour))
}

// SpanCountSince is SpanCount of the traces that began since.
func (j *Jaeger) SpanCountSince(ctx context.Context, service string, since time.Time) (int, error) {
	q := url.Values{"service": {service}, "limit": {"200000"},
		"start": {strconv.FormatInt(since.UnixMicro(), 10)},
		"end":   {strconv.FormatInt(time.Now().UnixMicro(), 10)}}
	resp, err := ask(ctx, j.url("QUERY")+"/api/traces?"+q.Encode())
	if err != nil {
		return 0, fmt.Errorf("counting jaeger's spans: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data []struct {
			TraceID string `json:"traceID"`
			Spans   []struct {
				ID string `json:"spanID"`
			} `json:"spans"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("counting jaeger's spans: its answer: %w", err)
	}
	spans := map[[2]string]bool{}
	for _, t := range answer.Data {
		for _, s := range t.Spans {
			spans[[2]string{t.TraceID, s.ID}] = true
		}
	}
	return len(spans), nil
}

// Taken is how many profiles Pyroscope has answered with success since its process
// began.
func (p *Pyroscope) Taken(ctx context.Context) (int, error) {
	resp, err := ask(ctx, p.URL()+"/metrics")
	if err != nil {
		return 0, fmt.Errorf("counting pyroscope's profiles: %w", err)
	}
	defer resp.Body.Close()
	n, lines := 0, bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "pyroscope_request_duration_seconds_count{") ||
			!strings.Contains(line, `route="push_v1_pusherservice`) ||
			!strings.Contains(line, `status_code="200"`) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("counting pyroscope's profiles: %q: %w", line, err)
		}
		n += int(value)
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("counting pyroscope's profiles: %w", err)
	}
	return n, nil
}

// ask gets a URL, whose answer the caller closes. Another status than 200 is an error.
func ask(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return resp, nil
}
