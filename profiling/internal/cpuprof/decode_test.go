package cpuprof

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func TestDecode(t *testing.T) {
	label := new(int)
	none, tag := unsafe.Pointer(nil), unsafe.Pointer(label)
	header := []uint64{3, 100, 250}
	type tags = []unsafe.Pointer
	for _, tc := range []struct {
		name    string
		data    []uint64 // after the header
		tags    tags
		want    []record
		dropped int
		err     string
	}{
		{name: "header only"},
		{
			name: "a sample",
			data: []uint64{5, 110, 1, 7, 8}, tags: tags{tag},
			want: []record{{at: 110, count: 1, stack: []uint64{7, 8}, tag: tag}},
		},
		{
			name: "no stack",
			data: []uint64{3, 110, 2}, tags: tags{none},
			want: []record{{at: 110, count: 2, stack: []uint64{}}},
		},
		{
			name: "the log was full",
			data: []uint64{4, 110, 0, 99, 4, 120, 1, 7}, tags: tags{none, tag},
			want: []record{{at: 110, lost: 99}, {at: 120, count: 1, stack: []uint64{7}, tag: tag}},
		},
		{
			name: "of a thread that is not Go's",
			data: []uint64{4, 0, 1, 7, 4, 120, 1, 7, 5, 0, 3, 8, 9}, tags: tags{none, none, none},
			want: []record{{at: 100, count: 1, stack: []uint64{7}}, {at: 120, count: 1, stack: []uint64{7}}, {at: 120, count: 3, stack: []uint64{8, 9}}},
		},
		{
			name: "back in time",
			data: []uint64{4, 120, 1, 7, 4, 110, 1, 7}, tags: tags{none, none},
			want: []record{{at: 120, count: 1, stack: []uint64{7}}, {at: 120, count: 1, stack: []uint64{7}}},
		},
		{
			name: "broken after a sample",
			data: []uint64{4, 120, 1, 7, 9, 110, 1, 7}, tags: tags{none, none},
			want:    []record{{at: 120, count: 1, stack: []uint64{7}}},
			dropped: 1, err: "a record of 9 words where there are 3 to 4",
		},
		{name: "length 0", data: []uint64{0, 0, 0, 0}, tags: tags{none, none}, dropped: 2, err: "a record of 0 words"},
		{name: "too short", data: []uint64{3, 1}, tags: tags{none}, dropped: 1, err: "a record of 2 words"},
		{name: "no tag", data: []uint64{3, 1, 1}, dropped: 1, err: "without a tag"},
		{name: "more tags", data: []uint64{3, 100, 1}, tags: tags{none, none, none}, want: []record{{at: 100, count: 1, stack: []uint64{}}}, dropped: 2, err: "2 tags more"},
		{name: "nothing lost", data: []uint64{5, 1, 0, 1, 1}, tags: tags{none}, dropped: 1, err: "counts nothing"},
		{name: "too many lost", data: []uint64{4, 1, 0, 1 << 40}, tags: tags{none}, dropped: 1, err: "counts nothing"},
		{name: "none lost", data: []uint64{4, 1, 0, 0}, tags: tags{none}, dropped: 1, err: "counts nothing"},
		{name: "too many", data: []uint64{3, 1, 1 << 40}, tags: tags{none}, dropped: 1, err: "counts 1099511627776"},
		{name: "no time", data: []uint64{3, 1 << 63, 1}, tags: tags{none}, dropped: 1, err: "of time 0x8000000000000000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var d decoder
			var got []record
			each := func(r record) { got = append(got, r) }
			if _, err := d.decode(header, tags{none}, each); err != nil || d.hz != 250 || got != nil {
				t.Fatalf("the header: rate %d, records %v, %v", d.hz, got, err)
			}
			dropped, err := d.decode(tc.data, tc.tags, each)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
			if dropped != tc.dropped || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("dropped %d, error %v; want %d and %q", dropped, err, tc.dropped, tc.err)
			}
		})
	}
	for name, data := range map[string][]uint64{
		"header with a stack":   {4, 100, 250, 1},
		"header without a rate": {3, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var d decoder
			if dropped, err := d.decode(data, tags{none}, func(record) { t.Error("a record") }); dropped != 1 || err == nil {
				t.Errorf("dropped %d, error %v", dropped, err)
			}
		})
	}
}

// Seeds, under testdata, are what a process read, sent as little-endian words.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, tags uint16) {
		data := make([]uint64, len(raw)/8)
		for i := range data {
			data[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
		var d decoder
		words, records, last := 0, 0, int64(0)
		dropped, err := d.decode(data, make([]unsafe.Pointer, tags), func(r record) {
			records++
			words += 3 + len(r.stack) + min(r.lost, 1)
			if r.at < last {
				t.Errorf("a record at %d after one at %d", r.at, last)
			}
			last = r.at
			if (r.count > 0) == (r.lost > 0) || r.count < 0 || r.lost < 0 || r.lost > 0 && r.stack != nil {
				t.Errorf("a record of %d samples and %d lost, with a stack of %d", r.count, r.lost, len(r.stack))
			}
		})
		if d.hz > 0 {
			words, records = words+3, records+1
		}
		switch {
		case err != nil && dropped == 0:
			t.Errorf("nothing was dropped: %v", err)
		case err == nil && (dropped > 0 || words != len(data) || records != int(tags)):
			t.Errorf("%d words in %d records with %d tags, of which %d words in %d records were seen and %d dropped",
				len(data), tags, tags, words, records, dropped)
		case records+dropped < int(tags):
			t.Errorf("%d tags: %d records seen, %d dropped", tags, records, dropped)
		}
		if d.hz > 0 && data[0] != 3 {
			t.Errorf("a header of %d words", data[0])
		}
	})
}
