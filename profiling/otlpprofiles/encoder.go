package otlpprofiles

import (
	"crypto/rand"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/profiling/profile"
)

// Tags of profiles.proto and profiles_service.proto.
const (
	requestProfiles   = 1<<3 | otlpwire.Prefixed
	requestDictionary = 2<<3 | otlpwire.Prefixed

	profileType       = 1<<3 | otlpwire.Prefixed
	profileSamples    = 2<<3 | otlpwire.Prefixed
	profileTime       = 3<<3 | otlpwire.Fixed64
	profileDuration   = 4<<3 | otlpwire.Varint
	profilePeriodType = 5<<3 | otlpwire.Prefixed
	profilePeriod     = 6<<3 | otlpwire.Varint
	profileID         = 7<<3 | otlpwire.Prefixed
	profileAttributes = 11<<3 | otlpwire.Prefixed

	valueType = 1<<3 | otlpwire.Varint
	valueUnit = 2<<3 | otlpwire.Varint

	sampleStack      = 1<<3 | otlpwire.Varint
	sampleAttributes = 2<<3 | otlpwire.Prefixed
	sampleLink       = 3<<3 | otlpwire.Varint
	sampleValues     = 4<<3 | otlpwire.Prefixed
	sampleTimestamps = 5<<3 | otlpwire.Prefixed
)

// maxRequest is the size at which a profile is split. Receivers refuse requests over 4 MiB.
const maxRequest = 3 << 20

// keepBytes bounds the memory of an encoder between two profiles. Larger profiles are rare.
const keepBytes = 4 << 20

// kindAttribute distinguishes profiles with equal sample types, such as mutex and block.
// OpenTelemetry's conventions have no such attribute.
const kindAttribute = "perfline.profile.kind"

// A request is an ExportProfilesServiceRequest.
type request struct {
	body  []byte
	count int // of profiles: one for each sample type
}

// A header holds the common fields of the profiles of a request.
type header struct {
	kind       string
	types      []sampleType
	periodType sampleType
	period     int64
	comments   []string // for readers
}

// A sampleType is the type, the unit and the time of a profile's values.
type sampleType struct {
	name, unit string
	from, to   int64 // nanoseconds since 1970
}

// An observation is a value with its time.
type observation struct {
	sample    int32
	value, at int64
}

// An encoder encodes profiles, and reuses its memory: each request allocates only its own bytes.
type encoder struct {
	resource, scope []byte // fields of ResourceProfiles and of ScopeProfiles
	limit           int    // size of a request at which a profile is split

	d       dictionary
	h       header
	samples table   // the encoded fields that identify a sample
	sums    []int64 // by sample and by type, for samples without times

	observed []observation
	valueLen int     // encoded length of the values of observed
	order    []int32 // indices of observed, by sample
	starts   []int32 // where the samples begin in order
	profiles []byte

	contexts  []contextFields            // of the trace, by index
	positions map[profile.Position]int32 // locations of the trace's calls
	stacks    map[profile.Position]int32 // stacks of the trace
	seen      map[sampleKey]int32        // samples of the trace
	stack     []int32
	keys      []int32 // of the attributes of a sample
	indices   []int32
}

func newEncoder(res *resource.Resource, of program) *encoder {
	e := &encoder{
		resource: otlpwire.AppendResource(nil, res), limit: maxRequest, d: newDictionary(of),
		scope: otlpwire.AppendScope(nil, scope.Scope()),
	}
	e.makeMaps()
	return e
}

// begin begins a request.
func (e *encoder) begin(h header) {
	e.h = h
	e.d.reset()
	e.samples.reset()
	e.sums, e.observed, e.valueLen, e.profiles = e.sums[:0], e.observed[:0], 0, e.profiles[:0]
	clear(e.positions)
	clear(e.stacks)
	clear(e.seen)
}

// memory returns the size of the encoder's memory without its maps, which grow with the tables.
func (e *encoder) memory() int {
	n := e.samples.memory() + cap(e.profiles) + 8*cap(e.sums) + 24*cap(e.observed) +
		4*(cap(e.order)+cap(e.starts)) + 32*cap(e.contexts)
	for _, t := range e.d.tables() {
		n += t.memory()
	}
	return n
}

// release frees the memory of a large profile.
func (e *encoder) release() {
	if e.memory() > keepBytes {
		d := newDictionary(e.d.program)
		*e = encoder{resource: e.resource, scope: e.scope, limit: e.limit, d: d}
		e.makeMaps()
	}
}

func (e *encoder) makeMaps() {
	e.positions, e.stacks = map[profile.Position]int32{}, map[profile.Position]int32{}
	e.seen = map[sampleKey]int32{}
}

// size returns an upper bound of the request's length.
func (e *encoder) size() int {
	const sample = 24 // tags, lengths and a value, without the identifying fields
	samples := len(e.samples.data) + sample*len(e.samples.entries)
	return len(e.resource) + len(e.scope) + e.d.size() + max(1, len(e.h.types))*samples +
		8*len(e.observed) + e.valueLen
}

// full reports whether to end the request.
func (e *encoder) full() bool { return len(e.samples.entries) > 0 && e.size() >= e.limit }

// sample returns the number of the sample with a stack, the attributes e.indices and a link.
func (e *encoder) sample(stack, link int32) int32 {
	b := appendNumber(e.d.scratch[:0], sampleStack, int64(stack))
	b = appendIndices(b, sampleAttributes, e.indices...)
	b = appendNumber(b, sampleLink, int64(link))
	e.d.scratch = b
	n := number(&e.samples, b)
	if missing := (int(n)+1)*len(e.h.types) - len(e.sums); missing > 0 {
		e.sums = append(e.sums, make([]int64, missing)...)
	}
	return n
}

// sum adds values to a sample, one of each type.
func (e *encoder) sum(sample int32, values ...int64) {
	of := e.sums[int(sample)*len(e.h.types):]
	for i, v := range values {
		of[i] += v
	}
}

// observe adds a value with its time to a sample.
func (e *encoder) observe(o observation) {
	e.observed = append(e.observed, o)
	e.valueLen += protowire.SizeVarint(uint64(o.value)) //nolint:gosec // as protobuf has it
}

// resetAttributes empties e.indices for another sample.
func (e *encoder) resetAttributes() { e.keys, e.indices = e.keys[:0], e.indices[:0] }

// addAttribute adds an attribute to e.indices, unless e.keys has the key.
func (e *encoder) addAttribute(key string, value attribute.Value, unit string) {
	k := e.d.text(key)
	if slices.Contains(e.keys, k) {
		return
	}
	e.keys = append(e.keys, k)
	e.indices = append(e.indices, e.d.attribute(k, value, unit))
}

// end calls send with the request, unless the request has no value.
func (e *encoder) end(send func(request)) {
	count := 0
	for k := range e.h.types {
		if e.appendProfile(k) {
			count++
		}
	}
	if count == 0 {
		return
	}
	dictionary := e.d.size()
	scope := len(e.scope) + len(e.profiles)
	profiles := len(e.resource) + otlpwire.FieldSize(scope)
	body := make([]byte, 0, otlpwire.FieldSize(profiles)+otlpwire.FieldSize(dictionary))
	body = append(otlpwire.AppendLength(body, requestProfiles, profiles), e.resource...)
	body = append(otlpwire.AppendLength(body, otlpwire.Scopes, scope), e.scope...)
	body = append(body, e.profiles...)
	body = otlpwire.AppendLength(body, requestDictionary, dictionary)
	for _, t := range e.d.tables() {
		body = append(body, t.data...)
	}
	send(request{body, count})
}

// appendProfile appends the profile of a type to e.profiles. It returns false without samples.
func (e *encoder) appendProfile(k int) bool {
	before := len(e.profiles)
	b, at := otlpwire.BeginMessage(e.profiles, otlpwire.Items)
	empty := len(b)
	if len(e.observed) > 0 {
		b = e.appendObserved(b)
	} else {
		b = e.appendSums(b, k)
	}
	if len(b) == empty {
		e.profiles = b[:before]
		return false
	}
	t := e.h.types[k]
	b = e.appendType(b, profileType, t)
	b = otlpwire.AppendFixed64(b, profileTime, uint64(max(0, t.from)))
	b = appendNumber(b, profileDuration, max(0, t.to-t.from))
	if e.h.periodType.name != "" {
		b = e.appendType(b, profilePeriodType, e.h.periodType)
	}
	b = appendNumber(b, profilePeriod, e.h.period)
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	b = append(otlpwire.AppendLength(b, profileID, len(id)), id[:]...)
	kind := e.d.attribute(e.d.text(kindAttribute), attribute.StringValue(e.h.kind), "")
	attributes := [...]int32{kind, 0}
	all := attributes[:1]
	if len(e.h.comments) > 0 {
		kv := semconv.PprofProfileComment(e.h.comments...)
		all = append(all, e.d.attribute(e.d.text(string(kv.Key)), kv.Value, ""))
	}
	b = appendIndices(b, profileAttributes, all...)
	e.profiles = otlpwire.EndMessage(b, at)
	return true
}

func (e *encoder) appendType(b []byte, tag uint64, t sampleType) []byte {
	b, at := otlpwire.BeginMessage(b, tag)
	b = appendNumber(b, valueType, int64(e.d.text(t.name)))
	b = appendNumber(b, valueUnit, int64(e.d.text(t.unit)))
	return otlpwire.EndMessage(b, at)
}

// appendSums appends the samples with a value of a type, unless it is 0.
func (e *encoder) appendSums(b []byte, k int) []byte {
	for i := range e.samples.entries {
		value := e.sums[i*len(e.h.types)+k]
		if value == 0 {
			continue
		}
		first := e.samples.entry(int32(i))       //nolint:gosec // an index of entries
		n := protowire.SizeVarint(uint64(value)) //nolint:gosec // as protobuf does
		b = otlpwire.AppendLength(b, profileSamples, len(first)+otlpwire.FieldSize(n))
		b = append(b, first...)
		b = otlpwire.AppendLength(b, sampleValues, n)
		b = protowire.AppendVarint(b, uint64(value)) //nolint:gosec // the same
	}
	return b
}

// appendObserved appends the samples with their values and times.
func (e *encoder) appendObserved(b []byte) []byte {
	e.sort()
	for i := range e.samples.entries {
		order := e.order[e.starts[i]:e.starts[i+1]]
		values := 0
		for _, o := range order {
			values += protowire.SizeVarint(uint64(e.observed[o].value)) //nolint:gosec // as protobuf has it
		}
		first := e.samples.entry(int32(i)) //nolint:gosec // as many as entries
		length := len(first) + otlpwire.FieldSize(values) + otlpwire.FieldSize(8*len(order))
		b = otlpwire.AppendLength(b, profileSamples, length)
		b = append(b, first...)
		b = otlpwire.AppendLength(b, sampleValues, values)
		for _, o := range order {
			b = protowire.AppendVarint(b, uint64(e.observed[o].value)) //nolint:gosec // as protobuf has it
		}
		b = otlpwire.AppendLength(b, sampleTimestamps, 8*len(order))
		for _, o := range order {
			b = protowire.AppendFixed64(b, uint64(e.observed[o].at)) //nolint:gosec // after 1970
		}
	}
	return b
}

// sort orders the observations by sample, and keeps the order within a sample.
func (e *encoder) sort() {
	n := len(e.samples.entries)
	e.starts = append(e.starts[:0], make([]int32, n+1)...)
	for _, o := range e.observed {
		e.starts[o.sample+1]++
	}
	for i := range n {
		e.starts[i+1] += e.starts[i]
	}
	e.order = slices.Grow(e.order[:0], len(e.observed))[:len(e.observed)]
	for i, o := range e.observed {
		e.order[e.starts[o.sample]] = int32(i) //nolint:gosec // a request has some MiB
		e.starts[o.sample]++
	}
	copy(e.starts[1:], e.starts[:n]) // each entry is now the start of the next sample
	e.starts[0] = 0
}
