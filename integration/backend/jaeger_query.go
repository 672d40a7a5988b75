package backend

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// A Span is a span as Jaeger tells it. Times have microseconds.
type Span struct {
	TraceID, ID, ParentID string
	Name                  string
	Start                 time.Time
	Duration              time.Duration
	Tags                  map[string]any // string, bool, int64, float64
	Process               map[string]any // its resource
	Events                []Event
}

// An Event is a log of a span; its name is the "event" field.
type Event struct {
	Name string
	Time time.Time
	Tags map[string]any
}

// Traces asks for the traces of a service, by trace id: all of them, with a
// limit above what a test makes.
func (j *Jaeger) Traces(ctx context.Context, service string) (map[string][]Span, error) {
	q := url.Values{"service": {service}, "limit": {"200000"}, "lookback": {"1h"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url("QUERY")+"/api/traces?"+
		q.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("jaeger answers %s for traces of %q", resp.Status, service)
	}
	var answer struct {
		Data []struct {
			TraceID   string     `json:"traceID"`
			Spans     []spanJSON `json:"spans"`
			Processes map[string]struct {
				Tags []tagJSON `json:"tags"`
			} `json:"processes"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("jaeger's answer: %w", err)
	}
	traces := map[string][]Span{}
	for _, t := range answer.Data {
		for _, s := range t.Spans {
			span, err := s.span()
			if err != nil {
				return nil, err
			}
			if span.Process, err = tags(t.Processes[s.ProcessID].Tags); err != nil {
				return nil, err
			}
			traces[t.TraceID] = append(traces[t.TraceID], span)
		}
	}
	return traces, nil
}

// Trace asks for a trace, with all that OTLP has of it. It is empty before Jaeger has any of its
// spans.
func (j *Jaeger) Trace(ctx context.Context, id trace.TraceID) (*tracepb.TracesData, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url("QUERY")+"/api/v3/traces/"+
		id.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data := &tracepb.TracesData{}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return data, nil
	case http.StatusOK:
	default:
		return nil, fmt.Errorf("jaeger answers %s for trace %s", resp.Status, id)
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("jaeger's answer: %w", err)
	}
	// IDs are hexadecimal in OTLP's JSON. The digits pass for base64, too: these are other bytes,
	// but the same for the same ID.
	if err := protojson.Unmarshal(answer.Result, data); err != nil {
		return nil, fmt.Errorf("jaeger's answer: %w", err)
	}
	return data, nil
}

type spanJSON struct {
	TraceID    string `json:"traceID"`
	SpanID     string `json:"spanID"`
	ProcessID  string `json:"processID"`
	Name       string `json:"operationName"`
	References []struct {
		RefType string `json:"refType"`
		SpanID  string `json:"spanID"`
	} `json:"references"`
	StartTime int64     `json:"startTime"` // microseconds
	Duration  int64     `json:"duration"`  // microseconds
	Tags      []tagJSON `json:"tags"`
	Logs      []struct {
		Timestamp int64     `json:"timestamp"`
		Fields    []tagJSON `json:"fields"`
	} `json:"logs"`
}

type tagJSON struct {
	Key   string          `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func (s *spanJSON) span() (Span, error) {
	out := Span{TraceID: s.TraceID, ID: s.SpanID, Name: s.Name,
		Start: time.UnixMicro(s.StartTime), Duration: time.Duration(s.Duration) * time.Microsecond}
	for _, r := range s.References {
		if r.RefType == "CHILD_OF" {
			out.ParentID = r.SpanID
		}
	}
	var err error
	if out.Tags, err = tags(s.Tags); err != nil {
		return out, err
	}
	for _, l := range s.Logs {
		e := Event{Time: time.UnixMicro(l.Timestamp)}
		if e.Tags, err = tags(l.Fields); err != nil {
			return out, err
		}
		e.Name, _ = e.Tags["event"].(string)
		delete(e.Tags, "event")
		out.Events = append(out.Events, e)
	}
	return out, nil
}

func tags(list []tagJSON) (map[string]any, error) {
	m := make(map[string]any, len(list))
	for _, t := range list {
		v, err := t.value()
		if err != nil {
			return nil, fmt.Errorf("jaeger's tag %q of type %q, value %s: %w", t.Key, t.Type,
				t.Value, err)
		}
		m[t.Key] = v
	}
	return m, nil
}

func (t *tagJSON) value() (any, error) {
	switch t.Type {
	case "bool":
		return decode[bool](t.Value)
	case "int64":
		var n json.Number
		if err := json.Unmarshal(t.Value, &n); err != nil { // a number, or a string that holds one
			return nil, err
		}
		return strconv.ParseInt(n.String(), 10, 64)
	case "float64":
		return decode[float64](t.Value)
	default:
		return decode[string](t.Value)
	}
}

func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
