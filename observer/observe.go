package observer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// defaultMaxBuffer is the default of [Options].MaxBuffer.
const defaultMaxBuffer = 1 << 14

// ErrModification is the error of an Observe that mixes Type and Types on one observer: the
// specification's InvalidModificationError. The first Observe decides, also after Disconnect.
var ErrModification = errors.New("an observer is used either with Type or with Types")

// Options configure an observer (PerformanceObserverInit). Exactly one of Types and Type is set.
type Options struct {
	// Types are the entry types, in place of earlier ones. Unsupported types are logged.
	Types []Type

	// Type is one entry type, in addition to earlier ones. The same Type replaces the options.
	Type Type

	// Buffered asks for the entries of Type that are already in the timeline's buffer. With Types,
	// Buffered is ignored and logged.
	Buffered bool

	// MaxBuffer is the maximum number of undelivered entries. Further entries are lost and count as
	// ObserverFull. 0 and less mean 16 384.
	MaxBuffer int
}

// An Observer is a registered callback (PerformanceObserver). Its methods may be called
// concurrently and from its own callback.
type Observer struct {
	timeline *Timeline
	engine   *record.Observer
	single   bool // made with Type, not with Types
}

// Observe registers callback for the entries of o. Observe returns an error, and registers nothing,
// if callback is nil, if o has neither Types nor Type or both, or if no type is supported.
func (t *Timeline) Observe(callback func(List), o Options) (*Observer, error) {
	if callback == nil {
		return nil, errors.New("observer: callback is nil: Observe needs a function to call")
	}
	obs := &Observer{timeline: t, single: o.Type != ""}
	obs.engine = t.engine().NewObserver(func(b record.Batch) { callback(List{b, obs}) })
	if err := obs.Observe(o); err != nil {
		return nil, err
	}
	return obs, nil
}

// Observe changes the options of an observer, or registers the observer after Disconnect: see
// [Options]. Undelivered entries stay. The errors are those of [Timeline.Observe], and
// [ErrModification].
func (o *Observer) Observe(opts Options) error {
	types, single := slices.Clone(opts.Types), opts.Type != ""
	switch {
	case single && opts.Types != nil:
		return fmt.Errorf("observer: Types %v and Type %q: only one of the two may be set",
			opts.Types, opts.Type)
	case single:
		types = []Type{opts.Type}
	case opts.Types == nil:
		return errors.New("observer: neither Types nor Type is set: one of them must name what to observe")
	}
	if single != o.single {
		return fmt.Errorf("observer: Observe of %q: %w", types, ErrModification)
	}
	supported := SupportedEntryTypes()
	ignored := slices.DeleteFunc(slices.Clone(types),
		func(typ Type) bool { return slices.Contains(supported, typ) })
	if len(ignored) == len(types) {
		return fmt.Errorf("observer: none of the types %q is supported; supported are %q", types,
			supported)
	}
	if opts.MaxBuffer <= 0 {
		opts.MaxBuffer = defaultMaxBuffer
	}
	err := o.engine.Register(record.Registration{
		Types: convertTypes[record.Type](types), Add: single, Buffered: single && opts.Buffered,
		MaxBuffer: opts.MaxBuffer,
	})
	if err != nil {
		return err
	}
	log := o.timeline.engine().Logger()
	if len(ignored) > 0 {
		log.Warn("perfline: entry types not supported, ignored", "types", ignored, "supported",
			supported)
	}
	if opts.Buffered && !single {
		log.Warn("perfline: Buffered is ignored with Types; observe each Type by itself", "types",
			types)
	}
	return nil
}

// Disconnect unregisters the observer and empties its buffer. The observer may Observe again. A
// second Disconnect does nothing.
func (o *Observer) Disconnect() { o.engine.Disconnect() }

// TakeRecords empties the observer's buffer, and returns the entries in the order of recording.
func (o *Observer) TakeRecords() []Entry {
	records := o.engine.TakeRecords()
	if records == nil {
		return nil
	}
	entries := make([]Entry, 0, len(records))
	for _, e := range records {
		entries = append(entries, Entry(e))
	}
	return entries
}

// Lost returns the number of entries that the observer lost, because [Options].MaxBuffer entries
// were undelivered. [Stats] counts the entries as ObserverFull.
func (o *Observer) Lost() uint64 { return o.engine.Lost() }
