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

// Options configure an observer (PerformanceObserverInit). Set exactly one of Types and Type.
type Options struct {
	// Types are the entry types to observe. Types replace the types of earlier calls. Observe logs
	// and ignores unsupported types.
	Types []Type

	// Type is one entry type to observe, in addition to the types of earlier calls. A call with an
	// earlier Type replaces the other options.
	Type Type

	// Buffered also delivers the entries of Type that the timeline's buffer already contains. With
	// Types, Observe logs and ignores Buffered.
	Buffered bool

	// MaxBuffer limits the number of undelivered entries. Entries above the limit are lost and
	// count as ObserverFull in [Stats]. 0 or a negative value means 16 384.
	MaxBuffer int
}

// An Observer is a callback that receives the new entries of a timeline (PerformanceObserver).
// Several goroutines may call the methods concurrently. The callback may also call the methods.
type Observer struct {
	timeline *Timeline
	engine   *record.Observer
	single   bool // made with Type, not with Types
}

// Observe registers a function for the entries that the options o select. The timeline then passes
// these entries to the function callback. Observe returns an error and registers nothing in these
// cases:
//
//   - callback is nil
//   - Types and Type are both set, or both unset
//   - no type in o is supported
//   - t is closed
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

// Observe replaces the options of the observer with opts. After Disconnect, Observe registers the
// observer again. Undelivered entries stay in the observer's buffer. Observe returns an error and
// changes nothing in these cases:
//
//   - Types and Type are both set, or both unset
//   - no type in opts is supported
//   - the timeline is closed
//   - [ErrModification]: opts sets Type and the first Observe set Types, or the reverse
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

// Disconnect unregisters the observer and empties the observer's buffer. Call [Observer.Observe] to
// register the observer again. A second Disconnect does nothing.
func (o *Observer) Disconnect() { o.engine.Disconnect() }

// TakeRecords removes the undelivered entries from the observer's buffer. TakeRecords returns the
// removed entries in the order of recording.
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

// Lost returns the number of entries that did not fit into the observer's buffer. [Stats] counts
// these entries as ObserverFull.
func (o *Observer) Lost() uint64 { return o.engine.Lost() }
