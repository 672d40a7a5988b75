package bridge

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/bridge/internal/serving"
)

// SetAttributes sets attributes. A new value for an existing key replaces the old value at the same
// position. Attributes over the limit are dropped and counted.
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

// setStartAttributes sets the attributes of a new span: the sampler's, then the caller's.
func (s *recordedSpan) setStartAttributes(sampler []attribute.KeyValue, cfg *spanStart) {
	p := s.tracer.provider
	limit := p.limits.AttributeCountLimit
	s.addAttributes(sampler)
	switch {
	case cfg.request != nil && len(sampler) == 0 && (limit < 0 || limit >= serving.MaxAttributes) &&
		p.limits.AttributeValueLengthLimit < 0:
		if s.object != nil {
			s.request = &s.object.facts
		} else {
			s.request = new(serving.Facts)
		}
		cfg.request.Tell(s.request)
	case cfg.request != nil:
		s.addAttributes(requestAttributes(cfg.request))
	case len(sampler) == 0 && p.sdkSampler && (limit < 0 || len(cfg.attributes) <= limit):
		s.attributes = cfg.attributes // the slice is new, and no sampler retains the slice
		s.limitFrom(0)
	default:
		s.addAttributes(cfg.attributes)
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

// requestAttributes returns the attributes of a request that are known at the start.
func requestAttributes(r serving.Request) []attribute.KeyValue {
	var facts serving.Facts
	r.Tell(&facts)
	list := serving.AttributeList{Attributes: make([]attribute.KeyValue, 0, serving.MaxAttributes)}
	facts.Form.Request(&facts, &list)
	return list.Attributes
}

// addAttributes appends attributes. removeDuplicates removes repeated keys later, unless the limit
// depends on these keys. s.mu is held.
func (s *recordedSpan) addAttributes(attrs []attribute.KeyValue) {
	limit := s.tracer.provider.limits.AttributeCountLimit
	if s.request != nil &&
		(s.answered || limit > 0 && serving.MaxAttributes+len(s.attributes)+len(attrs) > limit) {
		s.attributes, s.request, s.dirty = s.appendAttributes(nil), nil, true
	}
	if limit == 0 {
		s.droppedAttributes += int32(len(attrs))
		for i := range attrs {
			s.noteKeepAttribute(&attrs[i])
		}
		return
	}
	if limit > 0 && len(s.attributes)+len(attrs) > limit {
		s.addWithinLimit(attrs, limit)
		return
	}
	n := len(s.attributes)
	s.attributes = append(s.attributes, attrs...)
	s.limitFrom(n)
}

// limitFrom drops the invalid attributes from index n on, and applies the limits to the others.
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

// addWithinLimit adds attributes that may exceed the limit. s.mu is held.
func (s *recordedSpan) addWithinLimit(attrs []attribute.KeyValue, limit int) {
	s.removeDuplicates()
	var indexes map[attribute.Key]int // nil for few attributes: a search is cheaper than a map
	if len(attrs) > 8 {
		indexes = make(map[attribute.Key]int, min(limit, len(s.attributes)+len(attrs)))
		for i := range s.attributes {
			indexes[s.attributes[i].Key] = i
		}
	}
	for _, a := range attrs {
		i, ok := indexes[a.Key]
		if indexes == nil {
			i = slices.IndexFunc(s.attributes,
				func(other attribute.KeyValue) bool { return other.Key == a.Key })
			ok = i >= 0
		}
		if !a.Valid() || !ok && len(s.attributes) == limit {
			s.droppedAttributes++
			s.noteKeepAttribute(&a)
			continue
		}
		attributes.Limit(&a, &s.tracer.provider.limits)
		if ok {
			s.attributes[i] = a
			continue
		}
		if indexes != nil {
			indexes[a.Key] = len(s.attributes)
		}
		s.attributes = append(s.attributes, a)
	}
}

// removeDuplicates removes repeated keys. The last value of a key takes the place of the first.
// s.mu is held.
func (s *recordedSpan) removeDuplicates() {
	if !s.dirty {
		return
	}
	all := s.attributes
	s.attributes, s.dirty = attributes.Unique(all), false
	clear(all[len(s.attributes):])
}
