package main

// limits are the most that the counts may be. Lower one when its count falls. To raise one is a
// decision: say in the commit what the service gets for it. Sizes are of the first Go release that
// .ci/run names.
var limits = map[string]float64{
	"http, " + exported + allocationsAdded:       68,
	"http, " + provided + allocationsAdded:       55,
	"http, " + pipelined + allocationsAdded:      8,
	"http, " + bridged + allocationsAdded:        159,
	"http, " + both + allocationsAdded:           95,
	"unsampled, " + exported + allocationsAdded:  51,
	"unsampled, " + provided + allocationsAdded:  48,
	"unsampled, " + pipelined + allocationsAdded: 6,
	"unsampled, " + bridged + allocationsAdded:   44,
	"unsampled, " + both + allocationsAdded:      44,
	"http, " + forgetful + allocationsAdded:      8,
	"unsampled, " + forgetful + allocationsAdded: 5,
	"grpc, " + forgetful + allocationsAdded:      29,
	"outgoing, " + forgetful + allocationsAdded:  46,
	"sql, " + forgetful + allocationsAdded:       128,
	"grpc, " + exported + allocationsAdded:       66,
	"grpc, " + provided + allocationsAdded:       56,
	"grpc, " + pipelined + allocationsAdded:      29,
	"grpc, " + bridged + allocationsAdded:        133,
	"grpc, " + both + allocationsAdded:           93,
	"outgoing, " + exported + allocationsAdded:   73,
	"outgoing, " + provided + allocationsAdded:   65,
	"outgoing, " + pipelined + allocationsAdded:  46,
	"outgoing, " + bridged + allocationsAdded:    142,
	"outgoing, " + both + allocationsAdded:       84,
	"sql, " + exported + allocationsAdded:        226,
	"sql, " + provided + allocationsAdded:        161,
	"sql, " + pipelined + allocationsAdded:       128,
	"sql, " + bridged + allocationsAdded:         541,
	"sql, " + both + allocationsAdded:            280,

	"http, " + oursAlone + allocationsOfSpan: 1.02,

	plain + allocationsAdded:                     0,
	plain + unsampled + allocationsAdded:         0,
	exemplars + allocationsAdded:                 0,
	nameHistogram + allocationsAdded:             0,
	attributeHistogram + allocationsAdded:        0,
	exemplars + unsampled + allocationsAdded:     0,
	nameHistogram + unsampled + allocationsAdded: 0,

	"SDK + our exporter" + megabytesAdded: 12.2,
	"SDK + our exporter" + modulesLinked:  17,
	"perfline.Start" + megabytesAdded:     17.4,
	"perfline.Start" + modulesLinked:      24,
	pipelined + megabytesAdded:            17.8,
	pipelined + modulesLinked:             24,
}
