package main

import (
	"runtime"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// spanInMemory is how many bytes a span of the batch takes as the Collector's own
// data, which is what a processor holds that waits for the rest of a trace.
func spanInMemory(b batch) (bytes float64, err error) {
	const copies = 50
	request, err := b.renewed(1).MarshalProto()
	if err != nil {
		return 0, err
	}
	decoded := make([]ptraceotlp.ExportRequest, copies)
	before := liveHeap()
	for i := range decoded {
		decoded[i] = ptraceotlp.NewExportRequest()
		if err := decoded[i].UnmarshalProto(request); err != nil {
			return 0, err
		}
	}
	after := liveHeap()
	runtime.KeepAlive(decoded)
	return float64(after-before) / float64(copies*b.spans()), nil
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
