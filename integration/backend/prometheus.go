package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"
)

// A Prometheus is a Prometheus process that runs deploy/prometheus.yml, with its data
// in its folder. Its methods are for one goroutine at a time.
type Prometheus struct{ *server }

// StartPrometheus builds Prometheus if necessary, which takes minutes the first time. It
// starts Prometheus with the flags, and with its own for the address and the files, and
// waits until it is ready. The caller stops it.
func StartPrometheus(ctx context.Context, flags ...string) (*Prometheus, error) {
	config, err := repository("deploy", "prometheus.yml")
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "prometheus", "HTTP")
	if err != nil {
		return nil, err
	}
	s.args = append([]string{
		"--config.file=" + config,
		"--storage.tsdb.path=" + filepath.Join(s.dir, "data"),
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", s.ports["HTTP"].number),
		"--log.level=warn",
	}, flags...)
	s.ready = s.url("HTTP") + "/-/ready"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Prometheus{s}, nil
}

// URL is where it answers queries.
func (p *Prometheus) URL() string { return p.url("HTTP") }

// OTLPHTTP is the endpoint for metrics by OTLP over HTTP.
func (p *Prometheus) OTLPHTTP() string { return p.url("HTTP") + "/api/v1/otlp" }

// A Sample is an element of an instant vector. Its value is as Prometheus writes it:
// "NaN" is one.
type Sample struct {
	Labels map[string]string
	Value  string
}

// Query returns the result of a query now. The error for a wrong query has the reason.
func (p *Prometheus) Query(ctx context.Context, query string) ([]Sample, error) {
	var vector struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Metric map[string]string `json:"metric"`
			Value  [2]any            `json:"value"`
		} `json:"result"`
	}
	if err := p.ask(ctx, "query", url.Values{"query": {query}}, &vector); err != nil {
		return nil, err
	}
	if vector.ResultType != "vector" {
		return nil, fmt.Errorf("query %s: gives a %s, must be an instant vector", query,
			vector.ResultType)
	}
	samples := make([]Sample, len(vector.Result))
	for i, r := range vector.Result {
		samples[i].Labels = r.Metric
		samples[i].Value, _ = r.Value[1].(string)
	}
	return samples, nil
}

// LabelValues are the values that a label has in the series that a selector picks.
func (p *Prometheus) LabelValues(ctx context.Context, selector, label string) ([]string, error) {
	var values []string
	err := p.ask(ctx, "label/"+url.PathEscape(label)+"/values", url.Values{"match[]": {selector}},
		&values)
	return values, err
}

// Exemplars are the labels of those that a query's series have had in the last hour.
func (p *Prometheus) Exemplars(ctx context.Context, query string) ([]map[string]string, error) {
	var series []struct {
		Exemplars []struct {
			Labels map[string]string `json:"labels"`
		} `json:"exemplars"`
	}
	now := time.Now()
	if err := p.ask(ctx, "query_exemplars", url.Values{
		"query": {query},
		"start": {now.Add(-time.Hour).Format(time.RFC3339)},
		"end":   {now.Add(time.Minute).Format(time.RFC3339)},
	}, &series); err != nil {
		return nil, err
	}
	var all []map[string]string
	for _, s := range series {
		for _, e := range s.Exemplars {
			all = append(all, e.Labels)
		}
	}
	return all, nil
}

func (p *Prometheus) ask(ctx context.Context, path string, q url.Values, data any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/api/v1/"+path+"?"+
		q.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Error string `json:"error"`
		Data  any    `json:"data"`
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("prometheus answers %s for %s %v: %w", resp.Status, path, q, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("prometheus answers %s for %s %v: %s", resp.Status, path, q, answer.Error)
	}
	return nil
}
