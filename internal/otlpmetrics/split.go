package otlpmetrics

import (
	"google.golang.org/protobuf/encoding/protowire"

	w "github.com/perfline/perfline/internal/otlpwire"
)

// A message is a message of protobuf, as its fields.
type message struct {
	parts [][]byte // the values of the fields that may go to different requests
	rest  []byte   // the others, encoded
}

// read reads a message, whose parts are the fields of a tag. It is one that appendRequest has made.
func read(b []byte, part uint64) (m message) {
	for rest := w.Fields(b); len(rest) > 0; {
		before := rest
		f, err := rest.Next()
		if err != nil { // of our own bytes
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

// A point is one point of a metric, with what is around it.
type point struct {
	value        []byte
	data, metric *message // without their parts
	kind         uint64   // the tag of data
	scope        *message // without its parts
}

// pointsOf returns the points of a request, and what is around all of them.
func pointsOf(body []byte) (resource message, all []point) {
	request := read(body, requestResourceMetrics)
	resource = read(request.parts[0], w.Scopes)
	for _, s := range resource.parts {
		scope := read(s, w.Items)
		for _, m := range scope.parts {
			for _, kind := range []uint64{metricGauge, metricSum, metricHistogram,
				metricExponential, metricSummary} {
				metric := read(m, kind)
				for _, d := range metric.parts {
					data := read(d, dataPoints)
					for _, p := range data.parts {
						all = append(all, point{value: p, data: &data, metric: &metric, kind: kind,
							scope: &scope})
					}
				}
			}
		}
	}
	return resource, all
}

// split makes two requests of one. It returns false if that has less than two points.
func split(body []byte) (first, second request, ok bool) {
	resource, all := pointsOf(body)
	if len(all) < 2 {
		return request{}, request{}, false
	}
	half := len(all) / 2
	return join(resource, all[:half]), join(resource, all[half:]), true
}

// join makes a request of points.
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
