package main

// limits are the most that the counts may be. Lower one when its count falls. To raise one is a
// decision: say in the commit what the service gets for it. Sizes are of the first Go release that
// .ci/run names.
var limits = map[string]float64{
	"http, " + exported + allocationsAdded:       68,
	"http, " + provided + allocationsAdded:       58,
	"http, " + pipelined + allocationsAdded:      28,
	"http, " + bridged + allocationsAdded:        125,
	"http, " + both + allocationsAdded:           60,
	"unsampled, " + exported + allocationsAdded:  50,
	"unsampled, " + provided + allocationsAdded:  50,
	"unsampled, " + pipelined + allocationsAdded: 10,
	"unsampled, " + bridged + allocationsAdded:   44,
	"unsampled, " + both + allocationsAdded:      44,
	"grpc, " + exported + allocationsAdded:       66,
	"grpc, " + provided + allocationsAdded:       59,
	"grpc, " + pipelined + allocationsAdded:      46,
	"grpc, " + bridged + allocationsAdded:        97,
	"grpc, " + both + allocationsAdded:           56,
	"outgoing, " + exported + allocationsAdded:   73,
	"outgoing, " + provided + allocationsAdded:   69,
	"outgoing, " + pipelined + allocationsAdded:  63,
	"outgoing, " + bridged + allocationsAdded:    141,
	"outgoing, " + both + allocationsAdded:       83,
	"sql, " + exported + allocationsAdded:        226,
	"sql, " + provided + allocationsAdded:        183,
	"sql, " + pipelined + allocationsAdded:       262,
	"sql, " + bridged + allocationsAdded:         557,
	"sql, " + both + allocationsAdded:            295,

	"http, " + oursAlone + allocationsOfSpan: 1.02,

	"SDK + our exporter" + megabytesAdded: 12.2,
	"SDK + our exporter" + modulesLinked:  17,
	pipelined + megabytesAdded:            21.5,
	pipelined + modulesLinked:             53,
}
