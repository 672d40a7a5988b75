package otlpenc_test

import (
	"bytes"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// The bytes say which log records there are. Their request decodes to the messages that protobuf's types make of them.
func FuzzLogRecord(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newRandom(data)
		var groups otlpenc.Groups
		var all []logged
		for range 1 + r.Below(8) {
			all = append(all, r.logged(&groups))
		}
		equalLogs(t, all)
	})
}

// Random log records of some groups make the request that protobuf makes. Cut returns whole records in their order, within its bounds.
func TestRecordsProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRandom(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(rt, "data"))
		var groups otlpenc.Groups
		var all []logged
		for range rapid.IntRange(1, 20).Draw(rt, "records") {
			all = append(all, r.logged(&groups))
		}
		equalLogs(t, all)

		joined := otlpenc.NewRecords(all[0].group, nil, len(all))
		var sizes []int
		for _, l := range all {
			one := l.encode().Bytes
			joined.Bytes = append(joined.Bytes, one...)
			sizes = append(sizes, len(one))
		}
		cutsWhole(rt, joined, sizes, rapid.IntRange(-1, 25).Draw(rt, "count"), rapid.IntRange(-1, len(joined.Bytes)+100).Draw(rt, "bytes"))
	})
}

// cutsWhole cuts records of these sizes until none is left.
func cutsWhole(rt *rapid.T, all otlpenc.Records, sizes []int, count, size int) {
	var joined []byte
	for first, others := all.Cut(count, size); ; first, others = others.Cut(count, size) {
		if first.Count > max(count, 1) || first.Count > 1 && len(first.Bytes) > size {
			rt.Errorf("within %d and %d bytes: %d records of %d bytes", count, size, first.Count, len(first.Bytes))
		}
		n := 0
		for _, one := range sizes[:first.Count] {
			n += one
		}
		sizes = sizes[first.Count:]
		if n != len(first.Bytes) || cap(first.Bytes) > n && len(others.Bytes) > 0 || first.Group() != all.Group() {
			rt.Fatalf("%d records have %d bytes and room for %d, want %d", first.Count, len(first.Bytes), cap(first.Bytes), n)
		}
		if len(sizes) > 0 && first.Count < count && n+sizes[0] <= size {
			rt.Errorf("within %d and %d bytes: %d records of %d bytes, and the next one had room", count, size, first.Count, n)
		}
		joined = append(joined, first.Bytes...)
		if len(others.Bytes) == 0 {
			break
		}
		if others.Count != len(sizes) || others.Group() != all.Group() {
			rt.Fatalf("%d others, want %d", others.Count, len(sizes))
		}
	}
	if len(sizes) > 0 || !bytes.Equal(joined, all.Bytes) {
		rt.Errorf("within %d and %d bytes: %d records are missing", count, size, len(sizes))
	}
}

// logged returns a record with any contents, in one of few groups.
func (r *random) logged(groups *otlpenc.Groups) logged {
	severity := r.Below(30) - 2
	if r.Below(8) == 0 {
		severity = int(r.Number())
	}
	return logged{
		group: groups.Group(r.resource(), r.scope()),
		record: otlpenc.LogRecord{
			Time: r.Time(), ObservedTime: r.Time(), Severity: severity, SeverityText: r.Text(), EventName: r.Text(), Body: r.Value(0),
			SpanContext: r.Context(), Attributes: r.Attributes(0), DroppedAttributes: int(r.Number()),
		},
		detail: r.detail(),
	}
}

// detail returns attributes that are plain.
func (r *random) detail() []slog.Attr {
	number := 0
	return spanfuzz.List(&r.Source, func() slog.Attr {
		number++
		key := strconv.Itoa(number) + r.Text()
		switch r.Below(7) {
		case 0:
			return slog.Bool(key, r.Below(2) == 1)
		case 1:
			return slog.Int64(key, r.Number())
		case 2:
			return slog.Uint64(key, uint64(r.Number()))
		case 3:
			return slog.Float64(key, r.Float())
		case 4:
			return slog.Duration(key, time.Duration(r.Number()))
		case 5:
			return slog.Time(key, r.Time())
		default:
			return slog.String(key, r.Text())
		}
	})
}
