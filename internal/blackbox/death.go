package blackbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/record/mirror"
)

const (
	maxWords = 64 << 10 // bytes of the runtime's text that a report has
	maxExit  = 200      // bytes of the parent's note
)

// A Death is what the files of a process that is gone say.
type Death struct {
	Facts  Facts
	Status Status // the newest one; its Beat is 0 if there is none
	Kind   Kind
	Crash  *Crash // nil if the runtime said nothing
	Words  string // the runtime's text, or its beginning
	Exit   string // how the process ended, as its parent noted, or ""

	LeftOut     uint64 // requests without a slot
	Overwritten uint64 // finished spans without room

	Open  []mirror.Request // open, or ended and not yet handed over
	Items []mirror.Item    // finished spans that no backend has taken

	Last time.Time // the last sign of life
}

// read reads the files of a process.
func read(f *os.File, words, exit string, memory memoryReader) (*Death, error) {
	b := make([]byte, size+1)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	d, err := decodeFile(b[:n])
	if err != nil {
		return nil, err
	}
	d.Words = textFile(words, maxWords)
	d.Exit = strings.TrimSpace(textFile(exit, maxExit))
	d.Crash = readCrash(d.Words, d.Facts.Main)
	d.Kind = kindOf(d, memory(d.Facts.Group), bootID())
	return d, nil
}

// A memoryReader reads the state of a control group.
type memoryReader func(group string) Memory

var (
	errForeign = errors.New("the file is no black box of perfline")
	// errUnfinished says that the process ended while it made the file.
	errUnfinished = errors.New("the black box is empty: its process ended in Start")
)

// decodeFile decodes the bytes of a file. Any bytes are allowed.
func decodeFile(b []byte) (*Death, error) {
	facts, err := decodeFacts(b)
	if err != nil {
		return nil, err
	}
	if len(b) != size {
		return nil, fmt.Errorf("the black box has %d bytes and must have %d", len(b), size)
	}
	d := &Death{Facts: facts}
	const second = statusAt + statusSize
	d.decode(b[statusAt:second], b[second:slotsAt], b[slotsAt:spoolAt], b[spoolAt:])
	for i := range d.Open {
		d.Open[i].Taken += slotsAt
	}
	for i := range d.Items {
		d.Items[i].Taken += spoolAt
	}
	return d, nil
}

// decodeFacts decodes the beginning of a file. An error means that the file is not a black box of
// this version.
func decodeFacts(b []byte) (f Facts, err error) {
	head := b[:min(len(b), len(magic))]
	switch {
	case len(bytes.Trim(head, "\x00")) == 0:
		return f, errUnfinished
	case string(head) != magic || !decode(b[len(magic):min(len(b), factsSize)], &f):
		return f, errForeign
	case f.Version != version:
		return f, fmt.Errorf("the black box has version %d, and this program reads version %d",
			f.Version, version)
	default:
		return f, nil
	}
}

// decode decodes the other parts of a file: two of the status, the slots, and the spool.
func (d *Death) decode(one, two, slots, spool []byte) {
	for _, part := range [][]byte{one, two} {
		var s Status
		if decode(part, &s) && s.Beat > d.Status.Beat {
			d.Status = s
		}
	}
	d.Open = mirror.Requests(slots, larges, smalls)
	d.Items = mirror.Items(spool)
	d.LeftOut = mirror.LeftOutIn(slots, larges, smalls)
	d.Overwritten = mirror.OverwrittenIn(spool)
	d.setLast()
}

// setLast sets the last sign of life. The program chooses the times of some entries. A process that
// lived for longer than idleBeat had another heartbeat.
func (d *Death) setLast() {
	d.Last = d.Facts.Started
	if d.Status.Beat > 0 {
		d.Last = d.Status.At
	}
	latest := d.Last.Add(idleBeat)
	for i := range d.Open {
		r := &d.Open[i]
		for _, at := range append(times(r), r.Start) {
			if t := d.Time(at); t.After(d.Last) && !t.After(latest) {
				d.Last = t
			}
		}
	}
}

// times returns the times of the entries of a request.
func times(r *mirror.Request) []time.Duration {
	all := []time.Duration{r.End}
	for i := range r.Entries {
		all = append(all, r.Entries[i].Start+r.Entries[i].Duration)
	}
	return all
}

// Time converts a time since the origin of the process timeline. The newest status has the wall
// clock: after a step of the clock, the origin would not do.
func (d *Death) Time(since time.Duration) time.Time {
	const most = 100 * 365 * 24 * time.Hour // of a torn file
	since = max(-most, min(since, most))
	if d.Status.Beat > 0 {
		return d.Status.At.Add(since - time.Duration(d.Status.Since))
	}
	return d.Facts.Origin.Add(since)
}

// textFile returns the beginning of a file as valid UTF-8, or "".
func textFile(name string, most int64) string {
	// the directory may have a pipe of this name, or a link to a secret
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, most))
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(b)
}
