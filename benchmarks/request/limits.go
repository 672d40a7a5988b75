package main

// limits are the most that the counts may be. Lower one when its count falls. To raise one is a
// decision: say in the commit what the service gets for it. Sizes are of the first Go release that
// .ci/run names.
var limits = map[string]float64{
	"http, " + pipelined + allocationsAdded:      101,
	"http, " + bridged + allocationsAdded:        125,
	"unsampled, " + pipelined + allocationsAdded: 10,
	"unsampled, " + bridged + allocationsAdded:   44,
	"grpc, " + pipelined + allocationsAdded:      105,
	"grpc, " + bridged + allocationsAdded:        97,
	"outgoing, " + pipelined + allocationsAdded:  135,
	"outgoing, " + bridged + allocationsAdded:    141,
	"sql, " + pipelined + allocationsAdded:       542,
	"sql, " + bridged + allocationsAdded:         557,

	pipelined + megabytesAdded: 20.8,
	pipelined + modulesLinked:  53,
}
