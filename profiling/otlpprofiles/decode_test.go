package otlpprofiles

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// A decoded is a profile with what its indices stand for.
type decoded struct {
	typ, periodType string // name/unit
	period          int64
	time, duration  uint64
	id              string
	attributes      string
	samples         []decodedSample
}

type decodedSample struct {
	stack, attributes, link string
	values                  []int64
	times                   []uint64
}

// decode decodes a request, and fails t unless it keeps the rules of profiles.proto.
func decode(t interface {
	Helper()
	Fatalf(string, ...any)
}, body []byte,
) (data *profilespb.ProfilesData, all []decoded) {
	t.Helper()
	data, all, r := decodeLoosely(t, body)
	r.checkUsed()
	return data, all
}

// decodeLoosely is decode of a request that may have entries to which nothing refers.
func decodeLoosely(t interface {
	Helper()
	Fatalf(string, ...any)
}, body []byte,
) (data *profilespb.ProfilesData, all []decoded, r *reader) {
	t.Helper()
	if len(body) >= 4<<20 {
		t.Fatalf("a request of %d bytes", len(body))
	}
	data = &profilespb.ProfilesData{}
	if err := proto.Unmarshal(body, data); err != nil { // which refuses text that is not UTF-8
		t.Fatalf("the request cannot be decoded: %v", err)
	}
	if len(data.GetResourceProfiles()) != 1 || len(data.GetResourceProfiles()[0].GetScopeProfiles()) != 1 {
		t.Fatalf("%d resources, want one with one scope", len(data.GetResourceProfiles()))
	}
	r = &reader{Helper: t.Helper, fail: t.Fatalf, d: data.GetDictionary(), used: map[string]bool{}}
	r.checkTables()
	for _, p := range data.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles() {
		all = append(all, r.profile(p))
	}
	return data, all, r
}

// A reader reads what indices stand for, and notes which were used.
type reader struct {
	Helper func()
	fail   func(string, ...any)
	d      *profilespb.ProfilesDictionary
	used   map[string]bool
}

// use checks an index and returns it.
func (r *reader) use(table string, i int32, n int) int {
	r.Helper()
	if i < 0 || int(i) >= n {
		r.fail("index %d of the table of %s, which has %d", i, table, n)
	}
	r.used[fmt.Sprint(table, i)] = true
	return int(i)
}

// checkTables checks the first entries and looks for duplicates.
func (r *reader) checkTables() {
	r.Helper()
	d := r.d
	if d.GetStringTable()[0] != "" || !bytes.Equal(d.GetLinkTable()[0].GetTraceId(), make([]byte, 16)) || !bytes.Equal(d.GetLinkTable()[0].GetSpanId(), make([]byte, 8)) {
		r.fail("the first text is %q, the first link %v", d.GetStringTable()[0], d.GetLinkTable()[0])
	}
	for _, zero := range []proto.Message{d.GetMappingTable()[0], d.GetLocationTable()[0], d.GetFunctionTable()[0], d.GetAttributeTable()[0], d.GetStackTable()[0]} {
		if proto.Size(zero) != 0 {
			r.fail("the first entry of a table is %v", zero)
		}
	}
	unique(r, "strings", d.GetStringTable(), func(s string) string { return s })
	unique(r, "mappings", d.GetMappingTable(), marshal)
	unique(r, "locations", d.GetLocationTable(), marshal)
	unique(r, "functions", d.GetFunctionTable(), marshal)
	unique(r, "links", d.GetLinkTable(), marshal)
	unique(r, "attributes", d.GetAttributeTable(), marshal)
	unique(r, "stacks", d.GetStackTable(), marshal)
}

func marshal[M proto.Message](m M) string {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func unique[E any](r *reader, table string, entries []E, key func(E) string) {
	r.Helper()
	seen := map[string]int{}
	for i, e := range entries {
		if before, twice := seen[key(e)]; twice {
			r.fail("entries %d and %d of the table of %s are equal: %v", before, i, table, e)
		}
		seen[key(e)] = i
	}
}

// checkUsed looks for entries that nothing refers to.
func (r *reader) checkUsed() {
	r.Helper()
	d := r.d
	for table, n := range map[string]int{
		"strings": len(d.GetStringTable()), "mappings": len(d.GetMappingTable()), "locations": len(d.GetLocationTable()), "functions": len(d.GetFunctionTable()),
		"links": len(d.GetLinkTable()), "attributes": len(d.GetAttributeTable()), "stacks": len(d.GetStackTable()),
	} {
		for i := 1; i < n; i++ {
			if !r.used[fmt.Sprint(table, i)] {
				r.fail("nothing refers to entry %d of the table of %s", i, table)
			}
		}
	}
}

func (r *reader) text(i int32) string {
	r.Helper()
	s := r.d.GetStringTable()[r.use("strings", i, len(r.d.GetStringTable()))]
	if !utf8.ValidString(s) {
		r.fail("text %q", s)
	}
	return s
}

func (r *reader) profile(p *profilespb.Profile) decoded {
	r.Helper()
	d := decoded{
		typ: r.valueType(p.GetSampleType()), periodType: r.valueType(p.GetPeriodType()), period: p.GetPeriod(),
		time: p.GetTimeUnixNano(), duration: p.GetDurationNano(), id: string(p.GetProfileId()), attributes: r.attributes(p.GetAttributeIndices()),
	}
	if len(p.GetProfileId()) != 16 || len(p.GetSamples()) == 0 {
		r.fail("a profile with %d samples and the id %x", len(p.GetSamples()), p.GetProfileId())
	}
	identities := map[string]bool{}
	for _, s := range p.GetSamples() {
		ds := decodedSample{stack: r.stack(s.GetStackIndex()), attributes: r.attributes(s.GetAttributeIndices()), values: s.GetValues(), times: s.GetTimestampsUnixNano()}
		if l := r.d.GetLinkTable()[r.use("links", s.GetLinkIndex(), len(r.d.GetLinkTable()))]; s.GetLinkIndex() != 0 {
			ds.link = fmt.Sprintf("%x/%x", l.GetTraceId(), l.GetSpanId())
		}
		if len(ds.values) == 0 || len(ds.times) != 0 && len(ds.times) != len(ds.values) {
			r.fail("a sample has %d values and %d times", len(ds.values), len(ds.times))
		}
		for _, at := range ds.times {
			if at < d.time || at >= d.time+d.duration {
				r.fail("a sample is of %d, the profile of %d for %d", at, d.time, d.duration)
			}
		}
		identity := fmt.Sprint(ds.stack, "|", ds.attributes, "|", ds.link)
		if identities[identity] {
			r.fail("two samples are %s", identity)
		}
		identities[identity] = true
		d.samples = append(d.samples, ds)
	}
	return d
}

func (r *reader) valueType(t *profilespb.ValueType) string {
	r.Helper()
	if t == nil {
		return ""
	}
	return r.text(t.GetTypeStrindex()) + "/" + r.text(t.GetUnitStrindex())
}

// stack returns "function file:line" of each frame, innermost first, with inlined functions before ">".
func (r *reader) stack(i int32) string {
	r.Helper()
	var frames []string
	for _, l := range r.d.GetStackTable()[r.use("stacks", i, len(r.d.GetStackTable()))].GetLocationIndices() {
		location := r.d.GetLocationTable()[r.use("locations", l, len(r.d.GetLocationTable()))]
		m := r.d.GetMappingTable()[r.use("mappings", location.GetMappingIndex(), len(r.d.GetMappingTable()))]
		r.text(m.GetFilenameStrindex())
		if mapping := r.attributes(m.GetAttributeIndices()); !strings.Contains(mapping, "process.executable.build_id.htlhash") {
			r.fail("the mapping has the attributes %s", mapping)
		}
		r.attributes(location.GetAttributeIndices())
		var lines []string
		for _, line := range location.GetLines() {
			f := r.d.GetFunctionTable()[r.use("functions", line.GetFunctionIndex(), len(r.d.GetFunctionTable()))]
			lines = append(lines, fmt.Sprintf("%s@%d %s:%d", r.text(f.GetNameStrindex()), f.GetStartLine(), r.text(f.GetFilenameStrindex()), line.GetLine()))
		}
		frames = append(frames, strings.Join(lines, " > "))
	}
	return strings.Join(frames, "; ")
}

// attributes returns key=value of each attribute, in the order of keys.
func (r *reader) attributes(indices []int32) string {
	r.Helper()
	all := map[string]string{}
	for _, i := range indices {
		a := r.d.GetAttributeTable()[r.use("attributes", i, len(r.d.GetAttributeTable()))]
		key := r.text(a.GetKeyStrindex())
		if _, twice := all[key]; twice || key == "" {
			r.fail("the attribute %q, in %v", key, all)
		}
		all[key] = value(a.GetValue()) + r.text(a.GetUnitStrindex())
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, key+"="+all[key])
	}
	return strings.Join(texts, " ")
}

func value(v *commonpb.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_ArrayValue:
		var all []string
		for _, e := range v.ArrayValue.GetValues() {
			all = append(all, value(e))
		}
		return strings.Join(all, ",")
	default:
		return "?"
	}
}
