package bridge

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// SetAttributes sets attributes. A key that the span has keeps its place. New keys over the limit
// are dropped and counted.
func (s *recordedSpan) SetAttributes(attrs ...attribute.KeyValue) {
	if len(attrs) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen() {
		s.addAttributes(attrs)
	}
}

// begin sets the attributes that the sampler and the caller gave to the new span.
func (s *recordedSpan) begin(sampler []attribute.KeyValue, how *spanStart) {
	p := s.tracer.provider
	limit := p.limits.AttributeCountLimit
	s.addAttributes(sampler)
	switch {
	case how.request != nil && len(sampler) == 0 && (limit < 0 || limit >= serving.MaxAttributes) &&
		p.limits.AttributeValueLengthLimit < 0:
		if s.served != nil {
			s.request = &s.served.facts
		} else {
			s.request = new(serving.Facts)
		}
		how.request.Tell(s.request)
	case how.request != nil:
		s.addAttributes(listOf(how.request))
	case len(sampler) == 0 && p.sdkSampler && (limit < 0 || len(how.attributes) <= limit):
		s.attributes = how.attributes // the span owns the slice, and the sampler does not keep it
		s.limitFrom(0)
	default:
		s.addAttributes(how.attributes)
	}
}

func (s *recordedSpan) Answer(r serving.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.isOpen():
	case s.request != nil:
		r.TellAnswer(s.request)
		s.answered = true
	default:
		var list serving.AttributeList
		r.TellAnswer(&list.Facts)
		list.Facts.Form.Answer(&list.Facts, &list)
		s.addAttributes(list.Attributes)
	}
}

// appendAttributes appends all attributes of the span. s.mu is held, or the span has ended.
func (s *recordedSpan) appendAttributes(to []attribute.KeyValue) []attribute.KeyValue {
	if s.request == nil {
		return append(to, s.attributes...)
	}
	n, all := len(to), serving.AttributeList{Attributes: to}
	s.request.Form.Request(s.request, &all)
	all.KeyValues(s.attributes)
	if s.answered {
		s.request.Form.Answer(s.request, &all)
	}
	return all.Attributes[:n+len(attributes.Unique(all.Attributes[n:]))]
}

// listOf returns the attributes of a request as a list.
func listOf(r serving.Request) []attribute.KeyValue {
	var facts serving.Facts
	r.Tell(&facts)
	list := serving.AttributeList{Attributes: make([]attribute.KeyValue, 0, serving.MaxAttributes)}
	facts.Form.Request(&facts, &list)
	return list.Attributes
}

// addAttributes appends attributes. Keys that are there twice are left for later, unless the limit
// depends on them. s.mu is held.
func (s *recordedSpan) addAttributes(attrs []attribute.KeyValue) {
	limit := s.tracer.provider.limits.AttributeCountLimit
	if s.request != nil &&
		(s.answered || limit > 0 && serving.MaxAttributes+len(s.attributes)+len(attrs) > limit) {
		s.attributes, s.request, s.dirty = s.appendAttributes(nil), nil, true
	}
	if limit == 0 {
		s.droppedAttributes += int32(len(attrs))
		for i := range attrs {
			s.noteDropped(&attrs[i])
		}
		return
	}
	if limit > 0 && len(s.attributes)+len(attrs) > limit {
		s.addOverLimit(attrs, limit)
		return
	}
	n := len(s.attributes)
	s.attributes = append(s.attributes, attrs...)
	s.limitFrom(n)
}

// limitFrom drops invalid attributes, and limits the values of the others, from the n-th on.
func (s *recordedSpan) limitFrom(n int) {
	for i := n; i < len(s.attributes); i++ {
		a := &s.attributes[i]
		if !a.Valid() {
			s.droppedAttributes++
			continue
		}
		attributes.Limit(a, &s.tracer.provider.limits)
		if i > n {
			s.attributes[n] = *a
		}
		n++
	}
	clear(s.attributes[n:])
	s.attributes = s.attributes[:n]
	s.dirty = n > 1
}

// addOverLimit adds attributes that may exceed the limit. s.mu is held.
func (s *recordedSpan) addOverLimit(attrs []attribute.KeyValue, limit int) {
	s.distinct()
	var places map[attribute.Key]int // of the keys in s.attributes; nil if attrs are few
	if len(attrs) > 8 {
		places = make(map[attribute.Key]int, min(limit, len(s.attributes)+len(attrs)))
		for i := range s.attributes {
			places[s.attributes[i].Key] = i
		}
	}
	for _, a := range attrs {
		at, ok := places[a.Key]
		switch {
		case ok:
		case places != nil:
			at = -1
		default:
			at = slices.IndexFunc(s.attributes,
				func(have attribute.KeyValue) bool { return have.Key == a.Key })
		}
		if !a.Valid() || at < 0 && len(s.attributes) == limit {
			s.droppedAttributes++
			s.noteDropped(&a)
			continue
		}
		attributes.Limit(&a, &s.tracer.provider.limits)
		if at >= 0 {
			s.attributes[at] = a
			continue
		}
		if places != nil {
			places[a.Key] = len(s.attributes)
		}
		s.attributes = append(s.attributes, a)
	}
}

// distinct removes attributes whose keys come again: the last value takes the place of the first.
// s.mu is held.
func (s *recordedSpan) distinct() {
	if !s.dirty {
		return
	}
	all := s.attributes
	s.attributes, s.dirty = attributes.Unique(all), false
	clear(all[len(s.attributes):])
}
