package continuous

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// An empty profile is not taken.
func TestEmptySnapshot(t *testing.T) {
	for records, want := range map[int]int{0: 0, 1: 1} {
		taken := 0
		s := unlessEmpty(
			func([]runtime.BlockProfileRecord) (int, bool) { return records, false },
			Snapshot{Take: func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err }})
		data, err := s.take()
		if taken != want || len(data) != want || err != nil {
			t.Errorf("with %d records it was taken %d times, has %q, error %v, want %d", records, taken, data, err, want)
		}
	}
}

// The differences add up to the runtime's sums, whatever grows, and however often a stack comes in a profile.
func TestDeltas(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d := newDeltas(2)
	var sums, added [10][2]int64
	for range 200 {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "a"}, {Type: "b"}, {Type: "now"}}}
		inUse := map[string]int64{}
		for stack := range 10 {
			name := fmt.Sprint(stack)
			for part := range 1 + random.IntN(2) {
				more := [2]int64{random.Int64N(3), random.Int64N(3)}
				s := &profile.Sample{Location: []*profile.Location{{Address: 7}, {Address: uint64(stack / 2)}}, NumLabel: map[string][]int64{"bytes": {int64(stack % 2)}}, Label: map[string][]string{"stack": {name}}}
				for i := range more {
					if sums[stack][i] += more[i]; part == 0 {
						more[i] = sums[stack][i]
					}
				}
				now := random.Int64N(2)
				inUse[name] += now
				s.Value = []int64{more[0], more[1], now}
				p.Sample = append(p.Sample, s)
				if part == 1 { // the second sample of a stack has what the first one lacks
					first := p.Sample[len(p.Sample)-2]
					first.Value[0], first.Value[1] = sums[stack][0]-more[0], sums[stack][1]-more[1]
				}
			}
		}
		d.subtract(p)
		for _, s := range p.Sample {
			var stack int
			_, _ = fmt.Sscan(s.Label["stack"][0], &stack)
			inUse[s.Label["stack"][0]] -= s.Value[2]
			for i := range 2 {
				if added[stack][i] += s.Value[i]; s.Value[i] < 0 {
					t.Fatalf("a sample has %v", s.Value)
				}
			}
			if !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) {
				t.Fatal("a sample has nothing")
			}
		}
		if added != sums {
			t.Fatalf("the differences add up to %v, want %v", added, sums)
		}
		for name, n := range inUse {
			if n != 0 {
				t.Fatalf("stack %s has %d more of the moment", name, n)
			}
		}
	}
}

// A snapshot of what the last one had is empty.
func TestSnapshotOfNothingNew(t *testing.T) {
	var whole bytes.Buffer
	f := &profile.Function{ID: 1, Name: "main.main"}
	l := &profile.Location{ID: 1, Address: 0x10, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "contentions", Unit: "count"}},
		Function:   []*profile.Function{f}, Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{3}}},
	}
	if err := p.Write(&whole); err != nil {
		t.Fatal(err)
	}
	d := newDeltas(1)
	for _, want := range []int{1, 0} {
		var written bytes.Buffer
		if err := d.rewrite(&written, whole.Bytes()); err != nil {
			t.Fatal(err)
		}
		if p, err := profile.ParseData(written.Bytes()); err != nil || len(p.Sample) != want {
			t.Errorf("%v samples, error %v, want %d", p, err, want)
		}
	}
}

// A snapshot has the same functions as the profile of runtime/pprof, and all of them have a name.
func TestSnapshotsAreTheRuntimes(t *testing.T) {
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	contend()
	for pprof.Lookup(Mutex).Count() == 0 { // by chance, no goroutine has met another one at a lock
		meet()
	}
	for _, s := range RuntimeSnapshots() {
		t.Run(s.Kind, func(t *testing.T) {
			runtime.GC()
			var ours, theirs bytes.Buffer
			if err := pprof.Lookup(s.Kind).WriteTo(&theirs, 0); err != nil {
				t.Fatal(err)
			}
			if err := s.Take(&ours); err != nil {
				t.Fatal(err)
			}
			got, want := functions(t, ours.Bytes()), functions(t, theirs.Bytes())
			for name := range got {
				if name == "" {
					t.Error("a frame has no name")
				}
			}
			for name := range want {
				if name != "" && s.Kind != Goroutine && !got[name] { // the goroutine of the second profile is at another place
					t.Errorf("%s is missing; there are %v", name, slices.Sorted(maps.Keys(got)))
				}
			}
		})
	}
}

// meet lets two goroutines meet at a lock, most probably.
func meet() {
	var mu sync.Mutex
	met := make(chan bool)
	mu.Lock()
	go func() {
		defer close(met)
		mu.Lock() // waits, if it comes here within the millisecond
		defer mu.Unlock()
	}()
	time.Sleep(time.Millisecond)
	mu.Unlock()
	<-met
}

// contend has goroutines wait for each other, with the runtime's own locks among them.
func contend() {
	ch, done := make(chan int, 1), make(chan bool)
	for range 8 {
		go func() {
			for range 20_000 {
				select {
				case ch <- 1:
				case <-ch:
				}
			}
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
}

// functions returns the names of the functions that have something: the runtime writes stacks of which it knows nothing yet, too.
func functions(t *testing.T, data []byte) map[string]bool {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
	for _, l := range p.Compact().Location {
		if len(l.Line) == 0 {
			names[""] = true
		}
		for _, line := range l.Line {
			names[line.Function.Name] = true
		}
	}
	return names
}

// Frames without a function, as those of C code, are named by their address.
func TestFramesHaveNames(t *testing.T) {
	known, nameless := &profile.Function{ID: 5, Name: "main.main"}, &profile.Function{ID: 6}
	library := &profile.Mapping{ID: 1, File: "/lib/libc.so"}
	frames := []*profile.Location{
		{ID: 1, Address: 0x10, Line: []profile.Line{{Function: known}}},
		{ID: 2, Address: 0x20, Mapping: library},
		{ID: 3, Address: 0x30, Line: []profile.Line{{Function: nameless}, {Function: known}}},
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}},
		Function:   []*profile.Function{known, nameless}, Mapping: []*profile.Mapping{library}, Location: frames,
		Sample: []*profile.Sample{{Location: frames, Value: []int64{1}}},
	}
	var whole, written bytes.Buffer
	if err := p.Write(&whole); err != nil {
		t.Fatal(err)
	}
	if err := newDeltas(0).rewrite(&written, whole.Bytes()); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(written.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range p.Location {
		for _, line := range l.Line {
			got = append(got, line.Function.Name+" "+line.Function.Filename)
		}
	}
	if want := []string{"main.main ", "0x20 /lib/libc.so", "0x30 ", "main.main "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	ids := map[uint64]bool{}
	for _, f := range p.Function {
		if ids[f.ID] {
			t.Errorf("two functions have the number %d", f.ID)
		}
		ids[f.ID] = true
	}
}
