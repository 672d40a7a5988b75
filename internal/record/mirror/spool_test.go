package mirror

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func put(s *Spool, spans uint64, g Group, body []byte) (receipt uint64) {
	s.Begin()
	defer s.Commit()
	return s.Put(spans, g, body)
}

// groups are more than a small spool has room for.
var groups = []fields{{"r", "s"}, {"resource", "s"}, {"resource", strings.Repeat("scope ", 30)}}

// Items come and are taken in any order. The reader finds the newest ones that were not taken, as they were.
func TestSpool(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 52))
		mem := make([]byte, 64+2048)
		s := NewSpool(NewMemory(mem, func(err error) { t.Error(err) }), 64, 2048)
		type item struct {
			body    []byte
			receipt uint64
		}
		var waiting []item // a suffix of them is in the memory
		spans, gone := uint64(0), uint64(0)
		for step := range 2000 {
			switch op := random.IntN(10); {
			case op < 6:
				body := bytes.Repeat([]byte{byte(step)}, random.IntN(300))
				if random.IntN(30) == 0 {
					body = make([]byte, 1100)
				}
				var g Group
				want := body
				if n := random.IntN(len(groups) + 1); n < len(groups) {
					g, want = groups[n], appendRequest(nil, groups[n], body)
				}
				receipt := put(s, 3, g, body)
				spans += 3
				if receipt == 0 && len(want) < 900 || receipt > 0 && len(body) > 1000 {
					t.Fatalf("receipt %d for %d bytes", receipt, len(body))
				}
				body = want
				if receipt > 0 {
					waiting = append(waiting, item{body, receipt})
				}
			case len(waiting) > 0:
				i := random.IntN(len(waiting))
				s.Done(waiting[i].receipt)
				waiting = slices.Delete(waiting, i, i+1)
			}
			got := Items(mem[64:])
			if len(got) > len(waiting) {
				t.Fatalf("%d items of %d", len(got), len(waiting))
			}
			for i, want := range waiting[len(waiting)-len(got):] {
				if !bytes.Equal(got[i].Body, want.body) || got[i].Spans != 3 {
					t.Fatalf("seed %d, step %d: item %d is %v", seed, step, i, got[i])
				}
			}
			gone = s.Overwritten()
			if n := OverwrittenIn(mem[64:]); n != gone {
				t.Fatalf("seed %d, step %d: the memory counts %d spans that were overwritten, want %d", seed, step, n, gone)
			}
		}
		if len(Items(mem[64:])) < 5 || gone == 0 || gone > spans {
			t.Errorf("%d items, %d of %d spans overwritten", len(Items(mem[64:])), gone, spans)
		}
		for _, it := range Items(mem[64:]) { // as the next process marks them
			mem[64+it.Taken] |= Taken
		}
		if left := Items(mem[64:]); len(left) > 0 {
			t.Errorf("%d items are left", len(left))
		}
	}
}

// A process that dies within a list of items leaves none of them, and all of the earlier ones.
func TestSpoolLists(t *testing.T) {
	mem := make([]byte, 4096)
	s := NewSpool(NewMemory(mem, func(err error) { t.Error(err) }), 0, len(mem))
	texts := func() (all []string) {
		for _, it := range Items(slices.Clone(mem)) {
			all = append(all, string(it.Body))
		}
		return all
	}
	put(s, 1, nil, []byte("earlier"))
	s.Begin()
	for i := range 3 {
		s.Put(1, nil, fmt.Appendf(nil, "item %d", i))
		if got := texts(); !slices.Equal(got, []string{"earlier"}) {
			t.Errorf("in the middle of a list, the reader finds %q", got)
		}
	}
	s.Commit()
	if got := texts(); !slices.Equal(got, []string{"earlier", "item 0", "item 1", "item 2"}) {
		t.Errorf("after the list, the reader finds %q", got)
	}
}

// All that was overwritten is counted.
func TestSpoolOverwritten(t *testing.T) {
	mem := make([]byte, 1024)
	s := NewSpool(NewMemory(mem, func(err error) { t.Error(err) }), 0, 1024)
	for i := range 100 {
		put(s, 2, nil, fmt.Appendf(nil, "item %d", i))
	}
	left := Items(mem)
	if got := int(s.Overwritten()) + 2*len(left); got != 200 || string(left[len(left)-1].Body) != "item 99" {
		t.Errorf("%d of 200 spans", got)
	}
}

func FuzzItems(f *testing.F) {
	mem := make([]byte, 512)
	s := NewSpool(NewMemory(mem, func(err error) { f.Error(err) }), 0, 512)
	for range 10 {
		put(s, 2, nil, []byte("an item"))
	}
	f.Add(slices.Clone(mem), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, mem []byte, at uint16, b byte) {
		if len(mem) > int(at) {
			mem[at] ^= b
		}
		size := 0
		for _, it := range Items(mem) {
			size += len(it.Body)
			if it.Taken >= len(mem) {
				t.Errorf("%d", it.Taken)
			}
		}
		if size > maxGrowth*len(mem)+len(mem) {
			t.Errorf("%d bytes of %d", size, len(mem))
		}
	})
}

func TestSpoolAllocations(t *testing.T) {
	mem := make([]byte, 1<<20)
	s := NewSpool(NewMemory(mem, func(err error) { t.Error(err) }), 0, len(mem))
	body, g := make([]byte, 3000), Group(&groups[0])
	if n := testing.AllocsPerRun(1000, func() { s.Done(put(s, 1, g, body)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
