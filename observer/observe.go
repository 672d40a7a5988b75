package observer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// defaultMaxBuffer is how many undelivered entries an observer holds unless [Options] say more.
const defaultMaxBuffer = 1 << 14

// ErrModification is wrapped by errors of an Observe that mixes Type and Types on one observer
// (the specification's InvalidModificationError). The first Observe decides which of the two the
// observer takes, also after Disconnect.
var ErrModification = errors.New("an observer is used either with Type or with Types")

// Options says what an observer wants (PerformanceObserverInit). Exactly one of
// Types and Type is set.
type Options struct {
	// Types are the entry types to observe. Observing again with Types replaces the earlier
	// types. Types that are not supported are ignored and logged.
	Types []Type

	// Type is a single entry type. Observing again with another Type adds that type. With the
	// same Type, it replaces the options.
	Type Type

	// Buffered asks for the entries of Type that the timeline's buffer holds already. With Types,
	// Buffered is ignored, and that is logged.
	Buffered bool

	// MaxBuffer is how many undelivered entries the observer holds. Further entries are lost and
	// count as ObserverFull. 0 and less mean 16 384.
	MaxBuffer int
}

// An Observer is a registered callback (PerformanceObserver). Its methods may be
// called concurrently and from its own callback.
type Observer struct {
	timeline *Timeline
	recorded *record.Observer
	single   bool // made with Type, not with Types
}

// Observe registers callback for the entries that o names. It returns an error, and registers
// nothing, if callback is nil, if o has neither Types nor Type or both, or if no type is supported.
func (t *Timeline) Observe(callback func(List), o Options) (*Observer, error) {
	if callback == nil {
		return nil, errors.New("observer: callback is nil: Observe needs a function to call")
	}
	obs := &Observer{timeline: t, single: o.Type != ""}
	obs.recorded = t.recorded().NewObserver(func(b record.Batch) { callback(List{b, obs}) })
	if err := obs.Observe(o); err != nil {
		return nil, err
	}
	return obs, nil
}

// Observe changes what an observer wants, or registers it again after Disconnect: see [Options].
// Entries that the observer holds stay. The errors are those of [Timeline.Observe], and
// [ErrModification] for Type on an observer that was made with Types, or the reverse.
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
	err := o.recorded.Register(record.Registration{
		Types: convertTypes[record.Type](types), Add: single, Buffered: single && opts.Buffered,
		MaxBuffer: opts.MaxBuffer,
	})
	if err != nil {
		return err
	}
	log := o.timeline.recorded().Logger()
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

// Disconnect unregisters the observer and empties its buffer. It does nothing if the observer is
// not registered. The observer may Observe again.
func (o *Observer) Disconnect() { o.recorded.Disconnect() }

// TakeRecords empties the observer's buffer, and returns the entries in the order of recording.
func (o *Observer) TakeRecords() []Entry {
	records := o.recorded.TakeRecords()
	if records == nil {
		return nil
	}
	entries := make([]Entry, 0, len(records))
	for _, e := range records {
		entries = append(entries, Entry(e))
	}
	return entries
}

// Lost returns how many entries the observer has lost because it had [Options].MaxBuffer of them
// already. [Stats] counts them as ObserverFull.
func (o *Observer) Lost() uint64 { return o.recorded.Lost() }
