// Package requests (stable) has the requests that a program keeps in memory: the newest, the
// slowest, and those that a [bridge.KeepPolicy] kept, each with all its spans. perfline.Start fills
// the store; [Store] is what perfline's Pipeline.Recent returns. The live page and the agents'
// tools read the same store.
//
//	for _, q := range pipeline.Recent().Slowest() {
//		err := requests.WriteWaterfall(os.Stdout, q, nil)
//		…
//	}
//
// A request is a unit of work with all spans below its local root: a span of kind server or
// consumer, or one that marks.StartJob made. A request is there as soon as it has ended. Spans that
// end later are added.
package requests
