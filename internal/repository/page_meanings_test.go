package repository_test

// pageUnits are the units of numbers in the page's JSON, by type and field, or by field. Other numbers with a fraction are milliseconds,
// and other whole numbers have no unit.
var pageUnits = map[string]string{
	"runtimeRow.heap": "bytes", "runtimeRow.heapGoal": "bytes", "runtimeRow.memory": "bytes", "runtimeRow.allocated": "bytes a second",
	"runtimeRow.goroutines": "", "runtimeRow.gcCycles": "", "runtimeRow.mutexWait": "", "runtimeRow.processors": "", "runtimeRow.pending": "",
	"routeRow.perSecond": "1 a second",
	"runtimeRow.cpu":     "cores", "runtimeRow.cpuUser": "cores", "runtimeRow.cpuGC": "cores", "runtimeRow.cpuScavenge": "cores", "runtimeRow.cpuIdle": "cores",
	"runtimeRow.recorded": "1 a second", "runtimeRow.accepted": "1 a second", "runtimeRow.delivered": "1 a second",
	"sessionRow.progress": "0 to 1",
}

// pageMeanings are the meanings of fields that have no comment in the code, by type and field, or by field.
var pageMeanings = map[string]string{
	"attributes": "attributes, in the order in which they were set",
	"class":      "class of the kind",
	"engine":     "engine of the sampler: cpu, window or wall",
	"failed":     "it ended with an error",
	"file":       "file of the source",
	"function":   "function",
	"goroutine":  "id of a goroutine",
	"goroutines": "goroutines",
	"kind":       "kind",
	"line":       "line in the file",
	"name":       "name",
	"samples":    "samples of the profiler",
	"service":    "service.name, empty before the first request",
	"span":       "id of the span, 16 hex digits",
	"start":      "since the epoch of Unix",
	"state":      "waiting, recording, processing or ready",
	"took":       "duration",
	"trace":      "id of the trace, 32 hex digits",

	"attributeRow.key":   "key",
	"attributeRow.value": "value",

	"causeRow.by":       "ended the wait",
	"causeRow.function": "function that waited or ran",

	"countRow.group": "name of the metric",
	"countRow.n":     "number",
	"countRow.now":   "the number now, not since the start of the program",
	"countRow.what":  "meaning",

	"cut.attributes": "attributes",
	"cut.marks":      "marks",
	"cut.rows":       "spans",

	"flameNode.self":  "time in the function itself",
	"flameNode.total": "time in the function and in the functions that it called",

	"goroutineRow.id":        "id of the goroutine",
	"goroutineRow.intervals": "in the order of time",
	"hotRow.time":            "CPU time by samples, or wall time with the engine wall",
	"leakReport.at":          "time of the look, since the epoch of Unix",
	"markRow.at":             "since the start of the request",

	"concern.text":  "a sentence about it, with numbers",
	"concern.title": "two or three words",

	"requestDetail.cut":      "numbers of left out parts",
	"requestDetail.interval": "time between two samples of the engine",
	"requestDetail.missing":  "spans over the limit of a request",
	"requestDetail.resource": "attributes of the service",
	"requestRow.span":        "id of the root span, 16 hex digits",

	"routeRow.count":     "requests",
	"routeRow.max":       "longest duration",
	"routeRow.perSecond": "requests a second",
	"routeRow.p50":       "half of the requests took at most this long",
	"routeRow.p95":       "95 of 100 took at most this long",
	"routeRow.p99":       "99 of 100 took at most this long",

	"sessionContents.files":     "formats of its files",
	"sessionContents.id":        "id",
	"sessionContents.requests":  "requests",
	"sessionContents.timelines": "timelines",

	"sessionRow.dropped":  "entries over the limit of the session",
	"sessionRow.entries":  "recorded entries",
	"sessionRow.id":       "id",
	"sessionRow.length":   "length of the session until now",
	"sessionRow.progress": "share of the processing that is done",
	"sessionRow.route":    "name of the request for which it waits",
	"sessionRow.sampler":  "engine of the sampler",

	"spanRow.depth":   "0 for the root span",
	"spanRow.error":   "description of the error",
	"spanRow.hot":     "functions with the most samples",
	"spanRow.id":      "id of the span, 16 hex digits",
	"spanRow.marks":   "in the order of time",
	"spanRow.orphan":  "its parent is missing",
	"spanRow.samples": "samples of the profiler in it",
	"spanRow.scope":   "instrumentation that made the span",

	"waitRow.by":    "ended the longest of the waits",
	"waitRow.count": "waits",
	"waitRow.in":    "function outside the standard library",
}
