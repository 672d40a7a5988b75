package otlpmetrics

import (
	"google.golang.org/protobuf/encoding/protowire"

	w "github.com/perfline/perfline/internal/otlpwire"
)

// A message is a parsed protobuf message.
type message struct {
	parts [][]byte // values of the fields that a split distributes
	rest  []byte   // the other fields, encoded
}

// parse parses a message of appendRequest. The parts are the fields with the tag part.
func parse(b []byte, part uint64) (m message) {
	for rest := w.Fields(b); len(rest) > 0; {
		before := rest
		f, err := rest.Next()
		if err != nil { // impossible: appendRequest encoded the bytes
			panic(err)
		}
		if f.Tag == part {
			m.parts = append(m.parts, f.Body)
		} else {
			m.rest = append(m.rest, before[:len(before)-len(rest)]...)
		}
	}
	return m
}

// A point is one point of a metric, with the messages that contain the point.
type point struct {
	value        []byte
	data, metric *message
	kind         uint64 // the tag of data
	scope        *message
}

// pointsOf returns the points of a request, and the resource that contains all of them.
func pointsOf(body []byte) (resource message, all []point) {
	request := parse(body, requestResourceMetrics)
	resource = parse(request.parts[0], w.Scopes)
	kinds := [...]uint64{metricGauge, metricSum, metricHistogram, metricExponential, metricSummary}
	for _, s := range resource.parts {
		scope := parse(s, w.Items)
		for _, m := range scope.parts {
			for _, kind := range kinds {
				metric := parse(m, kind)
				for _, d := range metric.parts {
					data := parse(d, dataPoints)
					for _, p := range data.parts {
						all = append(all, point{p, &data, &metric, kind, &scope})
					}
				}
			}
		}
	}
	return resource, all
}

// split splits a request in two. It returns false for a request with fewer than two points.
func split(body []byte) (first, second request, ok bool) {
	resource, all := pointsOf(body)
	if len(all) < 2 {
		return request{}, request{}, false
	}
	half := len(all) / 2
	return join(resource, all[:half]), join(resource, all[half:]), true
}

func join(resource message, all []point) request {
	b, whole := w.BeginMessage(nil, requestResourceMetrics)
	b = append(b, resource.rest...)
	for i := 0; i < len(all); {
		scope := all[i].scope
		var atScope int
		b, atScope = w.BeginMessage(b, w.Scopes)
		b = append(b, scope.rest...)
		for i < len(all) && all[i].scope == scope {
			metric, data := all[i].metric, all[i].data
			var atMetric, atData int
			b, atMetric = w.BeginMessage(b, w.Items)
			b = append(b, metric.rest...)
			b, atData = w.BeginMessage(b, all[i].kind)
			b = append(b, data.rest...)
			for ; i < len(all) && all[i].data == data; i++ {
				b = protowire.AppendBytes(protowire.AppendVarint(b, dataPoints), all[i].value)
			}
			b = w.EndMessage(w.EndMessage(b, atData), atMetric)
		}
		b = w.EndMessage(b, atScope)
	}
	return request{body: w.EndMessage(b, whole), points: len(all)}
}
