// Package requests (stable) reads the requests that a program keeps in memory: the newest, the
// slowest, and the requests that a [bridge.KeepPolicy] kept, each with all its spans.
// perfline.Start fills a [Store], and perfline's Pipeline.Recent returns it. The live page and the
// agents' tools read the same store.
//
//	for _, q := range pipeline.Recent().Slowest() {
//		err := requests.WriteWaterfall(os.Stdout, q, nil)
//		…
//	}
//
// A request is a unit of work with all spans below its local root: a span of kind server or
// consumer, or a root span of marks.StartJob. A request enters the store when it ends. Spans that
// end later join it.
package requests
