package bridge

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/perfline/perfline/observer"
)

// madeRoom is what r made room by, the zero value for nothing.
func madeRoom(u *underWay, k spanKey, r running) running {
	if out := u.put(k, r); out != nil {
		return *out
	}
	return running{}
}

// What is known of spans is what was noted, to a map's word, and nothing of those that
// have ended, though their ids look alike and come again.
func TestUnderWay(t *testing.T) {
	var u underWay
	var keys []spanKey
	for i := range byte(16) { // in one shard, in two lists
		var k spanKey
		k.trace[0], k.span[0], k.span[6], k.span[7] = i&1, i>>1&3, i>>3, 5
		keys = append(keys, k)
	}
	model := map[spanKey]running{}
	p := &Processor{}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		k := keys[random.IntN(len(keys))]
		was := model[k]
		switch random.IntN(4) {
		case 0, 1:
			r := running{tl: tl.NewChild()}
			if random.IntN(2) == 0 {
				r.label = label{p, i}
			}
			want := running{}
			if r.label.by != nil {
				want.label = was.label
			}
			if got := madeRoom(&u, k, r); got != want {
				t.Fatalf("%d: %v made room for a label, want %v", i, got, want)
			}
			if r.label.by == nil {
				r.label = was.label
			}
			if random.IntN(4) == 0 && r.label.by != nil { // with a label only
				r.tl = nil
				u.put(k, r)
			}
			model[k] = r
		case 2:
			if got := u.take(k); got != was {
				t.Fatalf("%d: took %v, want %v", i, got, was)
			}
			delete(model, k)
		case 3:
			if got := u.takeLabel(k); got != was.label {
				t.Fatalf("%d: took the label %v, want %v", i, got, was.label)
			}
			if was.label = (label{}); was.tl == nil {
				delete(model, k)
			} else {
				model[k] = was
			}
		}
		if n := u.waiting(); n != len(model) || n != u.shards[5].n {
			t.Fatalf("%d: %d are kept, %d counted, want %d", i, n, u.shards[5].n, len(model))
		}
	}
	for _, k := range keys[:8] {
		u.take(k)
	}
	free := 0
	for e := u.shards[5].free; e != nil; e = e.next {
		if free++; e.key != (spanKey{}) || e.running != (running{}) {
			t.Errorf("an emptied entry keeps %v of %v", e.running, e.key)
		}
	}
	if n := u.waiting(); free < 8 || free+n > len(keys) {
		t.Errorf("%d entries are emptied, %d in use, of at most %d", free, n, len(keys))
	}
}

// A full shard lets one go for each that comes, whatever lists they are in.
func TestUnderWayWhenFull(t *testing.T) {
	for name, list := range map[string]func(i int) byte{
		"all lists":                   func(i int) byte { return byte(i) },
		"one list":                    func(int) byte { return 7 },
		"a list, the rest in another": func(i int) byte { return byte(i / (maxUnderWay + 1)) },
		"the last, then others":       func(i int) byte { return byte(255 - i/(maxUnderWay+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			var u underWay
			gone := 0
			tl := &observer.Timeline{}
			for i := range 2 * maxUnderWay {
				var k spanKey
				binary.BigEndian.PutUint32(k.span[:], uint32(i))
				k.span[6] = list(i)
				r := running{tl: tl}
				if i%2 == 0 {
					r.label = label{&Processor{}, i}
				}
				if madeRoom(&u, k, r) != (running{}) {
					gone++
				}
				if got := u.take(k); got != r {
					t.Fatalf("%d: took %v, want %v", i, got, r)
				}
				u.put(k, r)
				if n := u.waiting(); n != min(i+1, maxUnderWay) || n+gone != i+1 || n != u.shards[0].n {
					t.Fatalf("%d are kept, %d counted, %d went, of %d", n, u.shards[0].n, gone, i+1)
				}
			}
			if n, l := u.unjoined.Load(), u.unlabelled.Load(); int(n) != gone || int(l)+u.labels() != maxUnderWay {
				t.Errorf("of %d that went %d are counted; %d with a label, %d have one", gone, n, l, u.labels())
			}
		})
	}
}

// What it takes to know of a span from its start to its end.
func BenchmarkUnderWay(b *testing.B) {
	var u underWay
	r := running{tl: &observer.Timeline{}}
	b.ReportAllocs()
	for b.Loop() {
		var k spanKey
		binary.NativeEndian.PutUint64(k.span[:], rand.Uint64())
		u.add(k, r)
		u.take(k)
	}
}
