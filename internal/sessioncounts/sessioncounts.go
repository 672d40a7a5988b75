// Package sessioncounts passes the counts of a recorder of sessions to perfline, which lists them
// with its own counts. They are no part of the API of package sessions.
package sessioncounts

// Counts are the counts of a recorder.
type Counts struct {
	Started  uint64
	Refused  uint64 // starts that failed
	Stopped  uint64
	Overlong uint64 // sessions that reached the recorder's greatest length
	Released uint64
	Expired  uint64 // sessions forgotten after their time
}

// A Source is embedded in a recorder, in an unexported field. The recorder then has the unexported
// method of this package, which Of calls.
type Source struct{ read func() Counts }

// NewSource returns the source whose counts read returns. read may be called concurrently.
func NewSource(read func() Counts) Source { return Source{read} }

func (s Source) counts() Counts { return s.read() }

// Of returns the counts of a recorder, which embeds a Source.
func Of(recorder interface{ counts() Counts }) Counts { return recorder.counts() }
