package sessions

import (
	"context"
	"time"
)

// OfCosts is Of as if profiling had been found to cost so much: an entry, a label, a sample.
func OfCosts(r Recording, entry, label, sample time.Duration) (*Session, error) {
	in := &raw{
		id: 1, started: r.Started, length: r.Length, trace: r.Trace, log: newEntryLog(defaultMaxEvents),
		costs: costs{entry: entry, label: label, sample: sample},
	}
	for e := range r.Entries {
		in.log.add(&e, e.Time().Sub(r.Started), true)
	}
	return in.build(&progress{ctx: context.Background()})
}
