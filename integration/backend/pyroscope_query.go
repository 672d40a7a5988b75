package backend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// CPU is the type of profiles of CPU time; of the other types see
// [Pyroscope.ProfileTypes].
const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

// A Query says which of the stored profiles are asked for.
type Query struct {
	// Type is name:sample type:sample unit:period type:period unit. Empty means [CPU].
	Type string

	// Labels is the selector of series: {service_name="shop", span_name=~"GET .*"}.
	Labels string

	// From and To are the first and the last time of profiles, in milliseconds, and
	// differ, or nothing is found. The time of a profile is when it began. Zero means
	// what the server takes now: from an hour ago to ten minutes ahead.
	From, To time.Time
}

// queryJSON is all that the requests of querier.v1.QuerierService are made of.
type queryJSON struct {
	Type     string   `json:"profileTypeID,omitempty"`
	Labels   string   `json:"labelSelector,omitempty"`
	Spans    []string `json:"spanSelector,omitempty"`
	Matchers []string `json:"matchers,omitempty"`
	Name     string   `json:"name,omitempty"`
	Start    int64    `json:"start"` // milliseconds, as End
	End      int64    `json:"end"`
}

func (q Query) times() queryJSON {
	now := time.Now()
	if q.From.IsZero() {
		q.From = now.Add(-time.Hour)
	}
	if q.To.IsZero() {
		q.To = now.Add(10 * time.Minute)
	}
	return queryJSON{Start: q.From.UnixMilli(), End: q.To.UnixMilli()}
}

// Profile is the sum of the profiles, without their labels. Where there are none it
// has no samples.
func (p *Pyroscope) Profile(ctx context.Context, q Query) (*profile.Profile, error) {
	times := q.times()
	var body []byte
	body = protowire.AppendTag(body, 1, protowire.BytesType)
	body = protowire.AppendString(body, cmp.Or(q.Type, CPU))
	body = protowire.AppendTag(body, 2, protowire.BytesType)
	body = protowire.AppendString(body, q.Labels)
	body = protowire.AppendTag(body, 3, protowire.VarintType)
	body = protowire.AppendVarint(body, uint64(times.Start))
	body = protowire.AppendTag(body, 4, protowire.VarintType)
	body = protowire.AppendVarint(body, uint64(times.End))
	// As protocol buffers the answer is what go tool pprof reads.
	data, err := p.ask(ctx, querier+"SelectMergeProfile", "application/proto", body)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return &profile.Profile{}, nil
	}
	sum, err := profile.ParseUncompressed(data)
	if err != nil {
		return nil, fmt.Errorf("pyroscope's profile of %s: %w", q.Labels, err)
	}
	return sum, nil
}

// A FlameGraph is a sum of profiles, in their unit.
type FlameGraph struct {
	Total     int64
	Self      map[string]int64 // by function, without what it called
	Functions []string         // all that are on any stack
}

// SpanProfile is what of the profiles ran under the spans, whose ids are given as
// 16 hexadecimal digits.
func (p *Pyroscope) SpanProfile(ctx context.Context, q Query, spans ...string) (*FlameGraph,
	error) {
	request := q.times()
	request.Type, request.Labels, request.Spans = cmp.Or(q.Type, CPU), q.Labels, spans
	answer, err := call[struct {
		FlameGraph struct {
			Names  []string `json:"names"`
			Levels []struct {
				Values []json.Number `json:"values"` // strings that hold a number
			} `json:"levels"`
			Total json.Number `json:"total"`
		} `json:"flamegraph"`
	}](ctx, p, "SelectMergeSpanProfile", request)
	if err != nil {
		return nil, err
	}
	g := answer.FlameGraph
	out := &FlameGraph{Self: map[string]int64{}}
	if out.Total, err = strconv.ParseInt(cmp.Or(string(g.Total), "0"), 10, 64); err != nil {
		return nil, fmt.Errorf("pyroscope's flame graph: its total: %w", err)
	}
	for _, level := range g.Levels {
		// A node is four values: where it begins, total, self and the name's index.
		for node := range slices.Chunk(level.Values, 4) {
			if len(node) != 4 {
				return nil, fmt.Errorf("pyroscope's flame graph: a node of %d values, want 4: %v",
					len(node), node)
			}
			self, err := node[2].Int64()
			if err != nil {
				return nil, fmt.Errorf("pyroscope's flame graph: a node's self time: %w", err)
			}
			name, err := strconv.Atoi(string(node[3]))
			if err != nil || name < 0 || name >= len(g.Names) {
				return nil, fmt.Errorf("pyroscope's flame graph: a node's name is the %s. of %d",
					node[3], len(g.Names))
			}
			if self != 0 {
				out.Self[g.Names[name]] += self
			}
			if n := g.Names[name]; n != "total" { // the server's own name of the root
				out.Functions = append(out.Functions, n)
			}
		}
	}
	slices.Sort(out.Functions)
	out.Functions = slices.Compact(out.Functions)
	return out, nil
}

// ProfileTypes are the types of all profiles in the time of q, sorted.
func (p *Pyroscope) ProfileTypes(ctx context.Context, q Query) ([]string, error) {
	answer, err := call[struct {
		Types []struct {
			ID string `json:"ID"`
		} `json:"profileTypes"`
	}](ctx, p, "ProfileTypes", q.times())
	if err != nil {
		return nil, err
	}
	var types []string
	for _, t := range answer.Types {
		types = append(types, t.ID)
	}
	slices.Sort(types)
	return types, nil
}

// LabelValues are the values that the label called name has in the series, sorted.
func (p *Pyroscope) LabelValues(ctx context.Context, q Query, name string) ([]string, error) {
	request := q.times()
	request.Name, request.Matchers = name, []string{q.Labels}
	answer, err := call[struct {
		Names []string `json:"names"`
	}](ctx, p, "LabelValues", request)
	if err != nil {
		return nil, err
	}
	slices.Sort(answer.Names)
	return answer.Names, nil
}

// Series are the labels of each series.
func (p *Pyroscope) Series(ctx context.Context, q Query) ([]map[string]string, error) {
	request := q.times()
	request.Matchers = []string{q.Labels}
	answer, err := call[struct {
		LabelsSet []struct {
			Labels []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"labels"`
		} `json:"labelsSet"`
	}](ctx, p, "Series", request)
	if err != nil {
		return nil, err
	}
	var series []map[string]string
	for _, set := range answer.LabelsSet {
		labels := map[string]string{}
		for _, l := range set.Labels {
			labels[l.Name] = l.Value
		}
		series = append(series, labels)
	}
	return series, nil
}

// call asks for a typed answer.
func call[Answer any](ctx context.Context, p *Pyroscope, method string, request queryJSON) (Answer,
	error) {
	var answer Answer
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	data, err := p.ask(ctx, querier+method, "application/json", body)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return answer, fmt.Errorf("pyroscope's answer to %s: %w\n%s", method, err, data)
	}
	return answer, nil
}

const querier = "querier.v1.QuerierService/"

// canceled is in the answer of a Pyroscope that has given up a part of a query of its own accord,
// as a busy one does.
const canceled = `"message":"canceled: `

// ask calls a method, which is named with its service, as Connect does: by a POST. It asks again
// when Pyroscope gave up.
func (p *Pyroscope) ask(ctx context.Context, method, contentType string,
	body []byte) (answer []byte, err error) {
	err = Poll(ctx, func() (bool, error) {
		var status int
		answer, status, err = p.askOnce(ctx, method, contentType, body)
		gaveUp := status == http.StatusInternalServerError &&
			bytes.Contains(answer, []byte(canceled))
		if err == nil && status != http.StatusOK && !gaveUp {
			err = fmt.Errorf("pyroscope answers %d %s to %s: %s", status, http.StatusText(status),
				method, answer)
		}
		return !gaveUp, err
	})
	return answer, err
}

func (p *Pyroscope) askOnce(ctx context.Context, method, contentType string,
	body []byte) (answer []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/"+method,
		bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("asking pyroscope: %w", err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return nil, 0, fmt.Errorf("reading pyroscope's answer to %s: %w", method, err)
	}
	return answer, resp.StatusCode, nil
}
