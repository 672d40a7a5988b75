package otlpprofiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/continuous"
)

// runtime encodes a profile of the runtime, and calls send for each request.
func (e *encoder) runtime(r continuous.Runtime, send func(request)) error {
	p, err := profile.ParseData(r.Data)
	if err != nil {
		return fmt.Errorf("otlpprofiles: reading the runtime's profile: %w", err)
	}
	h := header{kind: r.Kind, period: p.Period, comments: p.Comments}
	if p.PeriodType != nil {
		h.periodType = sampleType{name: p.PeriodType.Type, unit: p.PeriodType.Unit}
	}
	for _, t := range p.SampleType {
		typ := sampleType{name: t.Type, unit: t.Unit, from: r.Since.UnixNano(),
			to: r.Taken.UnixNano()}
		if r.Kind == continuous.Goroutine || r.Kind == continuous.Leak ||
			strings.HasPrefix(t.Type, "inuse_") {
			typ.from = typ.to // of a moment
		}
		h.types = append(h.types, typ)
	}
	locations := make(map[*profile.Location]int32, len(p.Location))
	e.begin(h)
	for _, s := range p.Sample {
		if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
			continue
		}
		if e.full() {
			e.end(send)
			e.begin(h)
			clear(locations)
		}
		e.stack = e.stack[:0]
		for _, l := range s.Location {
			location, known := locations[l]
			if !known {
				location = e.d.location(lines(l)...)
				locations[l] = location
			}
			e.stack = append(e.stack, location)
		}
		stack := e.d.stack(e.stack)
		e.labels(s)
		e.sum(e.sample(stack, 0), s.Value...)
	}
	e.end(send)
	e.release()
	return nil
}

// lines returns the lines of a location. A snapshot has named all frames.
func lines(l *profile.Location) []line {
	all := make([]line, 0, 1)
	for _, of := range l.Line {
		if of.Function != nil {
			all = append(all, line{name: of.Function.Name, file: of.Function.Filename,
				start: of.Function.StartLine, line: of.Line})
		}
	}
	return all
}

// labels sets e.indices to the attributes of a sample.
func (e *encoder) labels(s *profile.Sample) {
	e.resetAttributes()
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		if values := s.Label[key]; len(values) > 0 {
			e.addLabel(key, labelValue(values[0]), "")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		if values := s.NumLabel[key]; len(values) > 0 {
			unit := ""
			if units := s.NumUnit[key]; len(units) > 0 {
				unit = units[0]
			}
			e.addLabel(key, attribute.Int64Value(values[0]), unit)
		}
	}
}
