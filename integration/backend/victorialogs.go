package backend

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
)

// A VictoriaLogs is a VictoriaLogs process with its data in its folder. Kill loses the records of
// its last second. Its methods are for one goroutine at a time.
type VictoriaLogs struct{ *server }

// StartVictoriaLogs builds VictoriaLogs if necessary, which takes half a minute the first time. It
// starts VictoriaLogs and waits until it is ready. The caller stops it.
func StartVictoriaLogs(ctx context.Context) (*VictoriaLogs, error) {
	s, err := newServer(ctx, "victorialogs", "HTTP")
	if err != nil {
		return nil, err
	}
	s.args = []string{
		"-storageDataPath=" + filepath.Join(s.dir, "data"),
		"-httpListenAddr=127.0.0.1:" + strconv.Itoa(s.ports["HTTP"].number),
		"-inmemoryDataFlushInterval=1s", // the shortest; the default is 5 s
		"-loggerLevel=WARN",
	}
	s.ready = s.url("HTTP") + "/health"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &VictoriaLogs{s}, nil
}

// OTLPHTTP is the endpoint for log records by OTLP over HTTP, in protobuf only.
func (v *VictoriaLogs) OTLPHTTP() string { return v.url("HTTP") + "/insert/opentelemetry" }

// A Record is a log record as VictoriaLogs returns it: its fields, each as text. "_msg" is the
// body, "_time" the time, and "_stream" the resource with the name of the event. Other fields have
// the names of the attributes of the record and of the resource, or are trace_id, span_id,
// severity_number, severity_text, event_name, scope.name and scope.version.
type Record map[string]string

// Records returns the records that a query in LogsQL selects, of all that VictoriaLogs has accepted
// before. The error for a wrong query has the reason.
func (v *VictoriaLogs) Records(ctx context.Context, query string) ([]Record, error) {
	// New records are searched after a second, or after this.
	flushed, err := ask(ctx, v.url("HTTP")+"/internal/force_flush")
	if err != nil {
		return nil, fmt.Errorf("flushing VictoriaLogs: %w", err)
	}
	flushed.Body.Close()
	q := url.Values{"query": {query}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url("HTTP")+
		"/select/logsql/query?"+q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking VictoriaLogs: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// without it, the status says enough
		reason, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		return nil, fmt.Errorf("victorialogs answers %s to %s: %s", resp.Status, query, reason)
	}
	var all []Record
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		r := Record{}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("victorialogs answers %q to %s: %w", lines.Bytes(), query, err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading VictoriaLogs's answer to %s: %w", query, err)
	}
	return all, nil
}
