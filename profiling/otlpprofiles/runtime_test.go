package otlpprofiles

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/continuous"
)

// frameTypes returns the attribute profile.frame.type of all locations, by function.
func frameTypes(data *profilespb.ProfilesData) string {
	d := data.GetDictionary()
	var all []string
	for _, l := range d.GetLocationTable()[1:] {
		for _, i := range l.GetAttributeIndices() {
			a := d.GetAttributeTable()[i]
			if d.GetStringTable()[a.GetKeyStrindex()] == "profile.frame.type" {
				all = append(all, d.GetStringTable()[d.GetFunctionTable()[l.GetLines()[0].GetFunctionIndex()].GetNameStrindex()]+"="+value(a.GetValue()))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func encodeRuntime(t interface {
	Helper()
	Fatalf(string, ...any)
}, e *encoder, limit int, kind string, p *pprofpb.Profile,
) (all []request) {
	t.Helper()
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatalf("the test's profile is wrong: %v", err)
	}
	e.limit = limit
	r := continuous.Runtime{Kind: kind, Data: data.Bytes(), Since: time.Unix(100, 0), Taken: time.Unix(115, 0)}
	if err := e.runtime(r, func(r request) { all = append(all, r) }); err != nil {
		t.Fatalf("%v", err)
	}
	return all
}

// heap is a heap profile of two functions, one of them inlined into the other.
func heap() *pprofpb.Profile {
	p := &pprofpb.Profile{
		SampleType: []*pprofpb.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		PeriodType: &pprofpb.ValueType{Type: "space", Unit: "bytes"}, Period: 524288, TimeNanos: 1,
		Mapping: []*pprofpb.Mapping{{ID: 1, File: "/bin/shop"}},
		Function: []*pprofpb.Function{
			{ID: 1, Name: "main.inner", SystemName: "main.inner", Filename: "in.go", StartLine: 1}, {ID: 2, Name: "main.outer", SystemName: "main.outer", Filename: "out.go", StartLine: 5},
		},
	}
	lines := []pprofpb.Line{{Function: p.Function[0], Line: 2}, {Function: p.Function[1], Line: 6}}
	for i := range 3 { // two addresses of the same lines, and one of another
		p.Location = append(p.Location, &pprofpb.Location{ID: uint64(i + 1), Mapping: p.Mapping[0], Address: uint64(0x1000 + i), Line: lines[min(i/2, 1):]})
	}
	at := func(i int) []*pprofpb.Location { return p.Location[i : i+1] }
	size := map[string][]int64{"bytes": {512}}
	p.Sample = []*pprofpb.Sample{
		{Location: at(0), Value: []int64{1, 512, 0, 0}, NumLabel: size},
		{Location: at(1), Value: []int64{2, 1024, 1, 512}, NumLabel: size},
		{Location: at(2), Value: []int64{0, 0, 1, 2048}, NumLabel: map[string][]int64{"bytes": {2048}}},
	}
	return p
}

func TestHeapProfile(t *testing.T) {
	requests := encodeRuntime(t, newEncoder(shop(), thisProgram()), maxRequest, continuous.Heap, heap())
	if len(requests) != 1 || requests[0].count != 4 {
		t.Fatalf("%d requests, want one of four profiles", len(requests))
	}
	_, all := decode(t, requests[0].body)
	const both, outer = "main.inner@1 in.go:2 > main.outer@5 out.go:6", "main.outer@5 out.go:6"
	var got []string
	for _, p := range all {
		got = append(got, fmt.Sprintf("%s at %d for %d by %s %d, %s", p.typ, p.time/1e9, p.duration/1e9, p.periodType, p.period, p.attributes))
		for _, s := range p.samples {
			got = append(got, fmt.Sprintf("%s %s %v", s.stack, s.attributes, s.values))
		}
	}
	want := []string{
		"alloc_objects/count at 100 for 15 by space/bytes 524288, perfline.profile.kind=heap", both + " bytes=512 [3]",
		"alloc_space/bytes at 100 for 15 by space/bytes 524288, perfline.profile.kind=heap", both + " bytes=512 [1536]",
		"inuse_objects/count at 115 for 0 by space/bytes 524288, perfline.profile.kind=heap", both + " bytes=512 [1]", outer + " bytes=2048 [1]",
		"inuse_space/bytes at 115 for 0 by space/bytes 524288, perfline.profile.kind=heap", both + " bytes=512 [512]", outer + " bytes=2048 [2048]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Goroutines have their labels without ids, as groups. A profile without any sends nothing.
func TestGoroutineProfile(t *testing.T) {
	p := heap()
	p.SampleType = []*pprofpb.ValueType{{Type: "goroutine", Unit: "count"}}
	p.Sample = nil
	for i := range 3 {
		p.Sample = append(p.Sample, &pprofpb.Sample{Location: p.Location[:1], Value: []int64{1}, Label: map[string][]string{
			"span_id": {fmt.Sprint(i)}, "trace_id": {"x"}, "profile_id": {"y"}, "span_name": {"GET /"}, "job": {"a\xff", "b"}, "none": nil,
		}})
	}
	e := newEncoder(shop(), thisProgram())
	_, all := decode(t, encodeRuntime(t, e, maxRequest, continuous.Goroutine, p)[0].body)
	if s := all[0].samples; len(s) != 1 || s[0].values[0] != 3 || s[0].attributes != "job=a\uFFFD span_name=GET /" || s[0].link != "" {
		t.Errorf("samples %v, want the three goroutines as one", s)
	}
	if all[0].duration != 0 {
		t.Errorf("it is of %d ns, want of a moment", all[0].duration)
	}
	p.Sample = nil
	if got := encodeRuntime(t, e, maxRequest, continuous.Leak, p); len(got) > 0 {
		t.Errorf("%d requests without a goroutine", len(got))
	}
}

func TestRuntimeProfileThatIsNone(t *testing.T) {
	err := newEncoder(shop(), thisProgram()).runtime(continuous.Runtime{Kind: continuous.Heap, Data: []byte("no profile")}, func(request) { t.Error("something is sent") })
	if err == nil || !strings.Contains(err.Error(), "reading the runtime's profile") {
		t.Errorf("got %v", err)
	}
}

// Whatever a profile has, its requests are valid, small, and have all values.
func TestRuntimeProfileIsWhole(t *testing.T) {
	e := newEncoder(shop(), thisProgram())
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"bytes", "\xff", "\xfe", "span_id", strings.Repeat("é", 1100)}))
	rapid.Check(t, func(t *rapid.T) {
		p := heap()
		p.Sample = nil
		for range rapid.IntRange(0, 20).Draw(t, "samples") {
			s := &pprofpb.Sample{Label: map[string][]string{}, NumLabel: map[string][]int64{}, NumUnit: map[string][]string{}}
			for range rapid.IntRange(0, 5).Draw(t, "depth") {
				s.Location = append(s.Location, rapid.SampledFrom(p.Location).Draw(t, "location"))
			}
			for range p.SampleType {
				s.Value = append(s.Value, rapid.Int64Range(0, 1<<40).Draw(t, "value"))
			}
			maps.Copy(s.Label, rapid.MapOfN(text, rapid.SliceOfN(text, 1, 2), 0, 15).Draw(t, "labels"))
			maps.Copy(s.NumLabel, rapid.MapOfN(text, rapid.SliceOfN(rapid.Int64(), 1, 2), 0, 3).Draw(t, "numbers"))
			p.Sample = append(p.Sample, s)
		}
		want, got := map[string]int64{}, map[string]int64{}
		for _, s := range p.Sample {
			for i, typ := range p.SampleType {
				want[typ.Type] += s.Value[i]
			}
		}
		limit := rapid.SampledFrom([]int{1, 3000, maxRequest}).Draw(t, "limit")
		for _, r := range encodeRuntime(t, e, limit, continuous.Heap, p) {
			_, all := decode(t, r.body)
			if len(all) != r.count {
				t.Fatalf("%d profiles, counted as %d", len(all), r.count)
			}
			for _, p := range all {
				for _, s := range p.samples {
					name, _, _ := strings.Cut(p.typ, "/")
					got[name] += s.values[0]
				}
			}
		}
		maps.DeleteFunc(want, func(_ string, sum int64) bool { return sum == 0 })
		maps.DeleteFunc(got, func(_ string, sum int64) bool { return sum == 0 })
		if !maps.Equal(got, want) {
			t.Fatalf("sums are %v, want %v", got, want)
		}
	})
}

// A profile in pprof's format, whatever it has, is an error or a request that keeps the rules.
func FuzzRuntimeProfile(f *testing.F) {
	var seed bytes.Buffer
	if err := heap().WriteUncompressed(&seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes(), 100)
	f.Add([]byte{}, 1)
	e := newEncoder(shop(), thisProgram())
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		e.limit = limit
		_ = e.runtime(continuous.Runtime{Kind: continuous.Heap, Data: data, Since: time.Unix(1, 0), Taken: time.Unix(2, 0)}, func(r request) { decodeLoosely(t, r.body) })
	})
}
