package service

import (
	"log/slog"
	"math"
	"strconv"
	"time"

	pb "github.com/perfline/perfline/profiling/service/profilerv1"
)

const maxDetails = 64

// appendDetails encodes attributes, up to maxDetails. Keys in a group begin with the group's key.
func appendDetails(list []*pb.Detail, prefix string, attrs []slog.Attr) []*pb.Detail {
	for _, a := range attrs {
		if len(list) == maxDetails {
			break
		}
		v := a.Value
		switch {
		case v.Kind() == slog.KindGroup && a.Key == "": // inlined, as slog does
			list = appendDetails(list, prefix, v.Group())
		case v.Kind() == slog.KindGroup:
			list = appendDetails(list, prefix+a.Key+".", v.Group())
		case a.Key != "":
			d := detail(v)
			d.Key = cut(prefix + a.Key)
			list = append(list, d)
		}
	}
	return list
}

func detail(v slog.Value) *pb.Detail {
	text := func(s string) *pb.Detail {
		return &pb.Detail{Value: &pb.Detail_StringValue{StringValue: cut(s)}}
	}
	integer := func(i int64) *pb.Detail {
		return &pb.Detail{Value: &pb.Detail_IntValue{IntValue: i}}
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
		return &pb.Detail{Value: &pb.Detail_DoubleValue{DoubleValue: v.Float64()}}
	case slog.KindBool:
		return &pb.Detail{Value: &pb.Detail_BoolValue{BoolValue: v.Bool()}}
	case slog.KindTime:
		return text(v.Time().Format(time.RFC3339Nano))
	default: // strings, durations and lists
		return text(v.String())
	}
}
