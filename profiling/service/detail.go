package service

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/perfline/perfline/profiling/service/profilerv1"
)

const (
	maxDetails = 64
	maxGroups  = 8 // within each other: a LogValuer can answer with itself in a group, for ever
)

// details encodes attributes, those of groups with the group's key before theirs.
func details(attrs []slog.Attr) []*profilerv1.Detail {
	return appendDetails(nil, "", attrs, 0)
}

func appendDetails(list []*profilerv1.Detail, prefix string, attrs []slog.Attr, depth int) []*profilerv1.Detail {
	for _, a := range attrs {
		if len(list) == maxDetails {
			break
		}
		v := a.Value.Resolve()
		switch {
		case v.Kind() == slog.KindGroup && depth == maxGroups:
		case v.Kind() == slog.KindGroup && a.Key == "": // inlined, as slog does
			list = appendDetails(list, prefix, v.Group(), depth+1)
		case v.Kind() == slog.KindGroup:
			list = appendDetails(list, prefix+a.Key+".", v.Group(), depth+1)
		case a.Key != "":
			d := detail(v)
			d.Key = cut(prefix + a.Key)
			list = append(list, d)
		}
	}
	return list
}

func detail(v slog.Value) *profilerv1.Detail {
	text := func(s string) *profilerv1.Detail {
		return &profilerv1.Detail{Value: &profilerv1.Detail_StringValue{StringValue: cut(s)}}
	}
	integer := func(i int64) *profilerv1.Detail {
		return &profilerv1.Detail{Value: &profilerv1.Detail_IntValue{IntValue: i}}
	}
	switch v.Kind() {
	case slog.KindInt64:
		return integer(v.Int64())
	case slog.KindUint64:
		if u := v.Uint64(); u > math.MaxInt64 {
			return text(strconv.FormatUint(u, 10))
		}
		return integer(int64(v.Uint64()))
	case slog.KindFloat64:
		return &profilerv1.Detail{Value: &profilerv1.Detail_DoubleValue{DoubleValue: v.Float64()}}
	case slog.KindBool:
		return &profilerv1.Detail{Value: &profilerv1.Detail_BoolValue{BoolValue: v.Bool()}}
	case slog.KindTime:
		return text(v.Time().Format(time.RFC3339Nano))
	case slog.KindAny:
		// fmt calls Error and String itself, and survives when they panic.
		return text(fmt.Sprintf("%+v", v.Any()))
	default: // strings and durations; groups and LogValuers were resolved before
		return text(v.String())
	}
}
