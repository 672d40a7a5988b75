package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Loki is a Loki process that runs deploy/loki.yaml, with its data in its folder. Its
// methods are for one goroutine at a time.
type Loki struct{ *server }

// StartLoki builds Loki if necessary, which takes minutes the first time. It starts Loki
// and waits until it is ready. The caller stops it.
func StartLoki(ctx context.Context) (*Loki, error) {
	config, err := repository("deploy", "loki.yaml")
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "loki", "HTTP", "GRPC")
	if err != nil {
		return nil, err
	}
	s.args = []string{"-config.file=" + config, "-config.expand-env=true"}
	s.env = []string{"LOKI_HOST=127.0.0.1", "LOKI_DATA=" + s.dir}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("LOKI_%s_PORT=%d", name, port))
	}
	s.ready = s.url("HTTP") + "/ready"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Loki{s}, nil
}

// OTLPHTTP is the endpoint for log records by OTLP over HTTP.
func (l *Loki) OTLPHTTP() string { return l.url("HTTP") + "/otlp" }

// A Line is a log record as Loki returns it.
type Line struct {
	Time time.Time
	Text string // the record's body

	// Labels are the stream's labels and the record's metadata: attributes of the record, the
	// scope and the resource, trace_id and span_id. Dots in names are underscores.
	Labels map[string]string
}

// Lines returns the lines of the last hour that a query in LogQL selects, up to 5000. The
// error for a wrong query has the reason.
func (l *Loki) Lines(ctx context.Context, query string) ([]Line, error) {
	now := time.Now()
	q := url.Values{
		"query": {query}, "limit": {"5000"},
		"start": {strconv.FormatInt(now.Add(-time.Hour).UnixNano(), 10)},
		"end":   {strconv.FormatInt(now.Add(time.Minute).UnixNano(), 10)},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url("HTTP")+"/loki/api/v1/query_range?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking Loki: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading Loki's answer to %s: %w", query, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("loki answers %s to %s: %s", resp.Status, query, data)
	}
	var answer struct {
		Data struct {
			ResultType string `json:"resultType"`
			Result     []struct {
				Stream map[string]string `json:"stream"`
				Values [][2]string       `json:"values"` // nanoseconds, text
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("loki's answer to %s: %w", query, err)
	}
	if answer.Data.ResultType != "streams" {
		return nil, fmt.Errorf("query %s: gives a %s, must be streams", query, answer.Data.ResultType)
	}
	var lines []Line
	for _, s := range answer.Data.Result {
		for _, v := range s.Values {
			ns, err := strconv.ParseInt(v[0], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("loki's time %q: %w", v[0], err)
			}
			lines = append(lines, Line{Time: time.Unix(0, ns), Text: v[1], Labels: s.Stream})
		}
	}
	return lines, nil
}
