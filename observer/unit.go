package observer

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
)

// A Receiver takes the journals of units. Package bridge has the one for OpenTelemetry.
type Receiver interface {
	// HandOver is called with a part of a unit's journal, which is valid during the call only. Several goroutines may
	// call it at once, each one with another part, and no lock is held. It must not block, and must not panic.
	HandOver(*Finished)

	// MarkLimit returns how many marks a span keeps: the last ones. A negative limit means no limit.
	MarkLimit() int
}

// A Span is a span of a unit. The tracing system that makes it keeps its state. The timeline has its marks until it
// has finished.
type Span interface {
	// IDs returns the ids of the span and of its parent. They do not change.
	IDs() SpanIDs

	// Marks returns what the timeline keeps at the span. It is always the same pointer.
	Marks() *SpanMarks

	// Size returns the memory that the finished span takes, in bytes. It need not be exact.
	Size() int

	// Describe returns the entry of the finished span.
	Describe() Description
}

// A Description is what an entry says of a span.
type Description struct {
	Type       Type
	Name       string
	Start, End time.Time
	Attrs      []slog.Attr // frozen
}

// NewUnit returns a timeline for one unit of work: an HTTP request, an RPC, a message, a job. Its origin is start,
// which must carry a monotonic reading (as time.Now does) to be exact. Its entries reach the observers
// of t too.
//
// A unit of a tracing system has a receiver. Its finished spans, and the marks and measures under them, wait in its
// journal. The receiver gets them when the unit ends. It gets a part of them earlier in these cases:
//
//   - The journal has 512 spans and measures, or 512 KiB.
//   - It is 2.5 to 5 s old.
//   - Too many units, or too many bytes, wait in the process.
//   - [Timeline.FlushUnits] is called.
//
// The marks of a span go with the span. After the unit's end, the receiver gets each span as it finishes.
//
// A unit is garbage-collected and serves no other work, so what is recorded late cannot get into another unit's data.
// The storage of its journal is pooled. Only the unit points to it, and lets go of it before the receiver reads it.
func (t *Timeline) NewUnit(start time.Time, r Receiver) *Timeline {
	root := t.root
	since := clamp(start.Sub(root.epoch))
	u := &Timeline{root: root, parent: t, origin: since, originTime: start, receiver: r}
	if since.Abs() == MaxTime {
		u.originTime = root.epoch.Add(since)
	}
	if root.clock != nil {
		u.origin = clamp(root.clock())
	}
	u.shard = &root.units.shards[rand.Uint64()%unitShards].unitShard
	return u
}

// NewChild makes a timeline for one request or job, with its own origin (now)
// and its own names. Its entries reach the observers of t too. Close it
// when the request is over.
func (t *Timeline) NewChild() *Timeline { return t.NewChildAt(time.Now()) }

// NewChildAt is NewChild with an origin that was measured before, so that a
// request's timeline and its span begin at the same instant. origin must carry
// a monotonic reading (as time.Now does) to be exact. With a Clock of the
// timeline's own, the child begins now. An origin further than [MaxTime] from the process
// timeline's becomes the nearest in range.
func (t *Timeline) NewChildAt(origin time.Time) *Timeline { return t.NewUnit(origin, nil) }

// Finish takes a span of the unit that has finished. The span does not change any more. Its entry is what its Describe
// says, with attrs, which are frozen, unless typ is "". Entries of marks under the span that come later are late.
func (t *Timeline) Finish(s Span, typ Type, attrs []slog.Attr) {
	k, _ := kindOf(typ)
	var size int
	if t.receiver != nil {
		size = s.Size()
	}
	t.add(&journalRecord{span: s, kind: k, gets: getsSpan, size: int32(min(size, maxJournalSize))}, attrs)
}

// Show records the entry of a span that another tracing system makes. It counts as recorded at the span's end.
func (t *Timeline) Show(ids SpanIDs, d Description) bool {
	k, ok := kindOf(d.Type)
	if !ok {
		return false
	}
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	return t.showAt(ids, k, d.Name, start, duration, start+duration, d.Attrs)
}

// showAt records an entry that no tracer gets. start and at are since the root's origin. attrs are frozen.
func (t *Timeline) showAt(ids SpanIDs, k kind, name string, start, duration, at time.Duration, attrs []slog.Attr) bool {
	if t.parent == nil {
		return t.root.put(t, ids, k, name, start, duration, at, attrs, true) == outcomeRecorded
	}
	t.keepEntry(&Entry{name: name, start: start, duration: duration, at: at, base: t.origin, tl: t, ids: ids, kind: k}, attrs)
	return true
}

// End ends a unit with the span that is its root, and hands over everything. The span has no entry.
func (t *Timeline) End(root Span) { t.end(root) }

// Close ends a unit that has no root, such as a child timeline: its entries are delivered, its observers
// disconnected, and its buffer is emptied. A later entry, of
// a goroutine that outlives the request, still reaches the
// observers of its parents and the tracing system. Closing twice, or closing a process
// timeline, does nothing.
func (t *Timeline) Close() {
	if t.parent != nil {
		t.end(nil)
	}
}

func (t *Timeline) end(root Span) {
	if t.closed.Swap(true) && root == nil {
		return
	}
	t.disconnect()
	t.mu.Lock()
	t.log = nil
	if root != nil {
		root.Marks().End()
		t.write(&journalRecord{span: root, gets: getsSpan}, nil)
	}
	t.handOver(causeEnd)
}

// disconnect delivers what the unit's own observers have, and unregisters them.
func (t *Timeline) disconnect() {
	if t.wants.Load() == 0 { // Observe looks at closed again after it has set wants
		return
	}
	r := t.root
	r.mu.Lock()
	defer r.unlock()
	r.collect()
	for _, o := range slices.Clone(t.observers) {
		o.countDropped()
		o.unregister() // what it has buffered is still delivered
	}
}

// append records an entry at a place of the unit.
func (t *Timeline) append(p *Place, k kind, name string, start, duration, at time.Duration, attrs []slog.Attr, frozen bool) outcome {
	if !frozen && !allScalars(attrs) {
		return outcomeUnfrozen
	}
	if p.Span == nil || t.receiver == nil {
		t.keepEntry(&Entry{name: name, start: start, duration: duration, at: at, base: t.origin, tl: t, ids: p.ids(k), kind: k}, attrs)
	} else {
		rec := journalRecord{name: name, span: p.Span, start: start, duration: duration, at: at, kind: k}
		if p.To == ToUnit {
			switch k {
			case kindMark:
				rec.gets = getsMark
			case kindMeasure:
				rec.gets = getsMeasure
			default:
			}
		}
		if !t.add(&rec, attrs) {
			return outcomeLost
		}
	}
	return outcomeRecorded
}

// keepEntry adds an entry to the unit's view, and shows it to observers. It copies the attributes, which are frozen.
func (t *Timeline) keepEntry(e *Entry, attrs []slog.Attr) {
	t.mu.Lock()
	if !t.closed.Load() && !t.note(e, attrs) {
		t.show()
		t.keep(e, attrs)
	}
	t.shard.recorded[e.kind].Add(1)
	w := wakeNone
	if t.watched(e.kind) {
		_, w = t.root.insert(t, e.ids, e.kind, e.name, e.start, e.duration, e.at, attrs, true)
	}
	t.mu.Unlock()
	if e.kind == kindMark && e.ids.Parent == (ID{}) {
		t.shard.unattached.Add(1)
	}
	t.root.wake(w)
}

// maxNoted is how many entries of a unit without a receiver wait in its journal, which costs less than the log.
const maxNoted = 64

// note puts an entry into the journal of a unit without a receiver. It returns false if the log has to take it: it has
// been read, or there are many entries. t.mu is held.
func (t *Timeline) note(e *Entry, attrs []slog.Attr) bool {
	if t.receiver != nil || t.log != nil || t.root.childLimit < maxNoted {
		return false
	}
	if t.journal == nil {
		t.journal, t.shown = newJournal(), 0
	}
	j := t.journal
	if len(j.records) == maxNoted {
		return false
	}
	j.ids = append(j.ids, e.ids)
	j.append(&journalRecord{
		name: e.name, start: e.start, duration: e.duration, at: e.at, kind: e.kind, counted: true, ids: int32(len(j.ids)),
	}, attrs)
	return true
}

// tell shows the entry of a record to observers. It does so while t.mu is held, as register does, so that an observer gets
// each entry once: from the buffer, or from here.
func (t *Timeline) tell(rec *journalRecord, attrs []slog.Attr) (w wake) {
	if rec.kind == kindNone || !t.watched(rec.kind) {
		return wakeNone
	}
	if rec.gets != getsSpan {
		_, w = t.root.insert(t, idsOf(rec.span, rec.kind), rec.kind, rec.name, rec.start, rec.duration, rec.at, attrs, true)
		return w
	}
	d := rec.span.Describe()
	start, duration := interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
	if len(attrs) == 0 {
		attrs = d.Attrs
	}
	_, w = t.root.insert(t, rec.span.IDs(), rec.kind, d.Name, start, duration, start+duration, attrs, true)
	return w
}

// keep adds e to the log, with a copy of attrs. t.mu is held.
func (t *Timeline) keep(e *Entry, attrs []slog.Attr) {
	l := t.buffer()
	if !l.room(e.kind) {
		l.refuse(e.kind, e.name, e.start)
		t.shard.bufferFull[e.kind].Add(1)
		return
	}
	rest := *e
	rest.attrs = l.slab.keep(attrs)
	l.add(rest)
}

// show brings the log up to date, unless the unit has ended. t.mu is held.
func (t *Timeline) show() {
	if !t.closed.Load() {
		t.fillLog()
	}
}

// fillLog adds to the log what the journal has. t.mu is held.
func (t *Timeline) fillLog() {
	j := t.journal
	if j == nil {
		return
	}
	for ; t.shown < len(j.records); t.shown++ {
		rec := &j.records[t.shown]
		if rec.kind == kindNone {
			continue
		}
		e := Entry{
			name: rec.name, start: rec.start, duration: rec.duration, at: rec.at, base: t.origin, tl: t,
			kind: rec.kind,
		}
		if rec.gets == getsSpan && !t.buffer().room(rec.kind) {
			t.keep(&Entry{kind: rec.kind}, nil) // counts it
			continue
		}
		if rec.ids > 0 {
			e.ids = j.ids[rec.ids-1]
		} else {
			e.ids = idsOf(rec.span, rec.kind)
		}
		attrs := j.attributes(rec)
		if rec.gets == getsSpan {
			d := rec.span.Describe()
			e.name, e.ids = d.Name, rec.span.IDs()
			e.start, e.duration = interval(t.origin, t.Since(d.Start), d.End.Sub(d.Start))
			e.at = e.start + e.duration
			if len(attrs) == 0 {
				attrs = d.Attrs
			}
		}
		t.keep(&e, attrs)
	}
}

// add appends a record to the journal, and hands over what is due. It reports false if there is no room, which it counts.
func (t *Timeline) add(rec *journalRecord, attrs []slog.Attr) bool {
	t.mu.Lock()
	switch rec.gets {
	case getsSpan:
		rec.span.Marks().End()
	case getsMark:
		if rec.span.Marks().ended() {
			rec.gets = getsNothing
			t.shard.late.Add(1)
		}
	default:
	}
	why, ok := causeNone, true
	if rec.gets == getsNothing && t.closed.Load() {
		t.shard.recorded[rec.kind].Add(1)
	} else {
		why, ok = t.write(rec, attrs)
	}
	w := wakeNone
	if ok {
		w = t.tell(rec, attrs)
	}
	if why == causeNone {
		t.mu.Unlock()
	} else {
		t.handOver(why)
	}
	t.root.wake(w)
	return ok
}

// write appends a record to the journal unless there is no room. It returns why the journal is to be handed over. t.mu is
// held.
func (t *Timeline) write(rec *journalRecord, attrs []slog.Attr) (why cause, ok bool) {
	j := t.journal
	if j == nil {
		j = newJournal()
		t.journal, t.shown = j, 0
	}
	size := rec.sizeWith(attrs)
	finished := rec.gets == getsSpan || rec.gets == getsMeasure
	atOnce := finished && t.closed.Load()
	room := atOnce || t.shard.reserve(t, size)
	if !room && j.finished == 0 && t.overLimit(j, rec) {
		t.prune(j)
		room = t.shard.reserve(t, size)
	}
	if !room && !finished && j.finished == 0 { // nothing that a hand-over would make room of
		t.shard.overflow[rec.kind].Add(1)
		if len(j.records) == 0 {
			t.journal = nil
			j.free()
		}
		return causeNone, false
	}
	j.append(rec, attrs)
	j.size += size
	switch {
	case atOnce:
		return causeEnd, true
	case !room:
		return causeCrowded, true
	case j.finished >= maxFinished || j.size >= maxJournalSize:
		return causeLong, true
	default:
		return causeNone, true
	}
}

// handOver gives what has finished to the receiver. Marks of spans that have not stay. t.mu is held, and released.
func (t *Timeline) handOver(why cause) {
	j := t.journal
	if j == nil || j.finished == 0 && (why == causeOld || why == causeFlush) {
		t.mu.Unlock()
		return
	}
	t.show() // the view keeps what the journal loses
	rest := t.keepMarks(j)
	if j.finished == 0 && rest != nil {
		t.shard.count(j)
		j.replace(rest)
		t.shown = len(j.records)
		t.mu.Unlock()
		return
	}
	t.journal, t.shown = rest, 0
	if rest != nil {
		t.shown = len(rest.records)
	}
	t.shard.count(j)
	if why == causeEnd && j.counted == 0 && rest == nil { // a late one, alone: Flush need not wait for it
		t.mu.Unlock()
		j.handOver(t.receiver, t.anchor())
		return
	}
	turn := t.shard.begin(t, j, why)
	t.mu.Unlock()
	defer t.shard.done(turn)
	j.handOver(t.receiver, t.anchor())
}

// handOver gives the journal to a receiver if there is anything for it, and then to the pool.
func (j *journal) handOver(r Receiver, anchor time.Time) {
	if j.finished > 0 {
		j.part = Finished{journal: j, anchor: anchor}
		r.HandOver(&j.part)
	}
	j.free()
}

// maxAge is the age at which a unit's wall clock is not believed any more.
const maxAge = 10 * time.Second

// anchor returns the wall clock's time of the root's origin, as what is exported of t has it.
func (t *Timeline) anchor() time.Time {
	r := t.root
	if t.parent == nil {
		return r.wall(0)
	}
	if r.clock == nil && r.now()-t.origin > maxAge {
		now := time.Now()
		return now.Add(-now.Sub(r.epoch))
	}
	return t.originTime.Add(-t.origin)
}

// keepMarks returns a journal with the marks in j of spans that have not finished, and nil without any. It drops what is over
// the limit of a span, and the oldest marks if they take more than half of a journal. t.mu is held.
func (t *Timeline) keepMarks(j *journal) (rest *journal) {
	size := 0
	for i := range j.records {
		rec := &j.records[i]
		if !rec.waits() {
			continue
		}
		size += rec.sizeWith(j.attributes(rec))
		m := rec.span.Marks()
		if m.last == 0 { // not the first one of its span
			continue
		}
		m.skip = 0
		if limit := t.receiver.MarkLimit(); limit >= 0 {
			m.skip = max(0, m.count-int32(min(limit, maxJournalSize)))
		}
		m.last, m.count = 0, 0
	}
	if size == 0 {
		return nil
	}
	rest = newJournal()
	dropped := uint64(0)
	for i := range j.records {
		rec := &j.records[i]
		if !rec.waits() {
			continue
		}
		m, n := rec.span.Marks(), rec.sizeWith(j.attributes(rec))
		if m.skip > 0 || size > maxJournalSize/2 {
			m.skip = max(0, m.skip-1)
			m.dropped++
			dropped++
			size -= n
			continue
		}
		rest.append(rec, j.attributes(rec))
		rest.records[len(rest.records)-1].counted = true
		rest.size += n
	}
	if dropped > 0 {
		t.shard.limited.Add(dropped)
	}
	if len(rest.records) == 0 {
		rest.free()
		return nil
	}
	return rest
}

// replace gives j the records of other, which goes to the pool, in j's own storage: a stream of marks does not make a new one each time.
// Without other, j has none.
func (j *journal) replace(other *journal) {
	clear(j.records)
	clear(j.attrs)
	j.records, j.attrs, j.size = j.records[:0], j.attrs[:0], 0
	if other == nil {
		return
	}
	j.records, j.attrs, j.size = append(j.records, other.records...), append(j.attrs, other.attrs...), other.size
	other.free()
}

// overLimit reports whether rec is a mark of a span whose limit will drop many of the marks in j. t.mu is held.
func (t *Timeline) overLimit(j *journal, rec *journalRecord) bool {
	limit := t.receiver.MarkLimit()
	return rec.gets == getsMark && limit >= 0 && int(rec.span.Marks().count) > limit+len(j.records)/16 // so that pruning is rare
}

// prune drops the marks over the limits of their spans from j, which has nothing that has finished. t.mu is held.
func (t *Timeline) prune(j *journal) {
	t.show() // the view keeps what the journal loses
	rest := t.keepMarks(j)
	t.shard.count(j)
	j.replace(rest)
	t.shown = len(j.records)
}

// waits reports whether a record is a mark of a span that has not finished.
func (rec *journalRecord) waits() bool { return rec.gets == getsMark && !rec.span.Marks().ended() }

// abandon drops the marks of spans that have not finished, and counts them.
func (t *Timeline) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.journal
	if j == nil || j.finished > 0 {
		return
	}
	t.show()
	for i := range j.records {
		if rec := &j.records[i]; rec.waits() {
			m := rec.span.Marks()
			m.last, m.count = 0, 0
			m.dropped++
			t.shard.agedOut.Add(1)
		}
	}
	t.journal, t.shown = nil, 0
	t.shard.count(j)
	t.shard.done(t.shard.begin(t, j, causeNone))
	j.free()
}
