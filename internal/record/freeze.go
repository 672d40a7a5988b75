package record

import (
	"log/slog"
	"time"
)

// Bounds of a conversion, for one attribute; maxFreezing is for all attributes of one call.
const (
	maxDepth    = 16                     // of nested groups and values
	maxElements = 4096                   // members of groups, elements of lists, and nested values
	maxFreezing = 250 * time.Millisecond // a process that is short of CPU can stop for 100 ms
)

const (
	ellipsis = "…" // marks a text or list that was cut at a bound

	// GoexitText replaces values that a method's runtime.Goexit left unconverted.
	GoexitText = "!GOEXIT"
)

// Freeze converts attributes to the form that entries store. Package observer documents the rules
// and the bounds. If no attribute needs a change, Freeze returns attrs. [Place.Record] and
// [Timeline.NewEntry] call Freeze. Call Freeze directly only to record the attributes later, as
// marks.Start does.
//
// A method of an attribute's value may call runtime.Goexit. Record then still records the entry,
// but NewEntry does not return.
func Freeze(attrs []slog.Attr) []slog.Attr {
	if _, ok := scalars(attrs); ok {
		return attrs
	}
	b := newBudget()
	frozen := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs { // if attrs escaped here, every caller would allocate attrs
		if a, ok := b.attr(a); ok {
			frozen = append(frozen, a)
		}
	}
	return frozen
}

// scalars reports whether no attribute needs freezing. If so, scalars also returns the bytes that
// [Contents] counts, which saves a second loop.
func scalars(attrs []slog.Attr) (contents int, ok bool) {
	for i := range attrs {
		a := &attrs[i]
		if len(a.Key) > MaxKey {
			return 0, false
		}
		contents += len(a.Key)
		switch a.Value.Kind() {
		case slog.KindAny, slog.KindGroup, slog.KindLogValuer:
			return 0, false
		case slog.KindString:
			n := len(a.Value.String())
			if n > MaxText {
				return 0, false
			}
			contents += n
		default:
		}
	}
	return contents, true
}

// freezeAndRecord freezes attrs and calls end, even if a method of an attribute calls Goexit.
func (p *Place) freezeAndRecord(k kind, span Opened, name string, start, duration time.Duration,
	attrs []slog.Attr, failure *Failure) (ok bool) {
	var room [maxInline]slog.Attr
	frozen, done := room[:0], 0
	defer func() {
		for ; done < len(attrs); done++ { // the attributes after a Goexit
			a := attrs[done]
			if _, ok := scalars(attrs[done : done+1]); !ok {
				a = slog.String(Key(a.Key), GoexitText)
			}
			frozen = append(frozen, a)
		}
		p.contents = Contents(frozen)
		ok = p.end(k, span, name, start, duration, frozen, failure)
	}()
	b := newBudget()
	for ; done < len(attrs); done++ {
		if a, ok := b.attr(attrs[done]); ok {
			frozen = append(frozen, a)
		}
	}
	return ok
}

// A budget holds the rest of the bounds of a conversion.
type budget struct {
	began    time.Time
	elements int
	bytes    int
}

func newBudget() budget {
	return budget{began: time.Now(), elements: maxElements, bytes: MaxText}
}

// spend takes one element. spend returns false if no element or no time is left.
func (b *budget) spend() bool {
	if b.elements == 0 || b.expired() {
		return false
	}
	b.elements--
	return true
}

func (b *budget) expired() bool { return time.Since(b.began) > maxFreezing }

// attr freezes an attribute with a new budget, except for the time. attr returns false if a is
// empty.
func (b *budget) attr(a slog.Attr) (_ slog.Attr, ok bool) {
	b.elements, b.bytes = maxElements, MaxText
	if _, ok := scalars([]slog.Attr{a}); !ok && b.expired() {
		return slog.String(Key(a.Key), ellipsis), true
	}
	return b.member(a, 0)
}

// member freezes an attribute within depth groups.
func (b *budget) member(a slog.Attr, depth int) (_ slog.Attr, ok bool) {
	a.Key = Key(a.Key)
	a.Value = a.Value.Resolve() // turns a panic into text
	switch a.Value.Kind() {
	case slog.KindString:
		if s := a.Value.String(); len(s) > b.bytes {
			a.Value = slog.StringValue(b.print(func(p *printer) { p.str(s) }))
		} else {
			b.bytes -= len(s)
		}
	case slog.KindGroup:
		if depth == maxDepth {
			a.Value = slog.StringValue(ellipsis)
			break
		}
		members := b.group(a.Value.Group(), depth+1)
		if len(members) == 0 {
			return a, false
		}
		a.Value = slog.GroupValue(members...)
	case slog.KindAny:
		v := a.Value.Any()
		if v == nil && a.Key == "" {
			return a, false
		}
		if v != nil {
			a.Value = b.value(v)
		}
	default:
	}
	return a, true
}

func (b *budget) group(members []slog.Attr, depth int) []slog.Attr {
	frozen := make([]slog.Attr, 0, min(len(members), b.elements+1))
	for _, m := range members {
		if !b.spend() {
			return append(frozen, slog.String(ellipsis, ellipsis))
		}
		if m, ok := b.member(m, depth); ok {
			frozen = append(frozen, m)
		}
	}
	return frozen
}

// value freezes a value that is neither a scalar nor a group.
func (b *budget) value(v any) slog.Value {
	var list any
	switch v := v.(type) {
	case []string:
		list = b.copyStrings(v)
	case []bool:
		list = copyList(v, &b.elements)
	case []int64:
		list = copyList(v, &b.elements)
	case []float64:
		list = copyList(v, &b.elements)
	case []byte:
		list = copyList(v, &b.bytes)
	}
	if list != nil {
		return slog.AnyValue(list)
	}
	return slog.StringValue(b.text(v))
}

// copyStrings is copyList for strings. The texts spend bytes of the budget, too.
func (b *budget) copyStrings(list []string) any {
	size := 0
	for _, s := range list {
		size += len(s)
	}
	if size > b.bytes {
		return nil
	}
	copied := copyList(list, &b.elements)
	if copied != nil {
		b.bytes -= size
	}
	return copied
}

// copyList returns a copy of list, or nil if list is longer than left.
func copyList[T any](list []T, left *int) any {
	if len(list) > *left {
		return nil
	}
	*left -= len(list)
	return append(make([]T, 0, len(list)), list...)
}
