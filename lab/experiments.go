package main

// The experiments, in the order of their runs. The documents name the commands that write their
// tables; here are the same measurements, and fewer rounds where an hour would go into one row.
var experiments = []experiment{
	{name: "vulnerable", what: "known vulnerabilities that our code or its tests reach",
		do: vulnerabilities},
	{name: "live", what: "tests that need real time, shares of processors or the heap",
		do: liveTests},
	{
		name: "conformance", what: "other people's tests over perfline",
		long:  []string{"./conformance"},
		short: []string{"./conformance -only ^baggagecopy$"},
	},
	{
		name: "judge", what: "what telemetry adds to a request whose handler works",
		long:  []string{"./request judge"},
		short: []string{"./request -short"}, // with the other commands of the program
	},
	{
		name: "budgets", what: "all standing budgets of requests, spans, exporters and programs",
		long: []string{"./request budgets", "./request counts"},
	},
	{
		name: "signals", what: "what each signal beside spans adds to a request",
		long: []string{"./request signals"},
	},
	{
		name: "armed", what: "what the armed waits recorder adds to a request",
		long: []string{"./request waits"},
	},
	{
		name: "calls", what: "single calls beside OpenTelemetry and others",
		long:  []string{"./calls"},
		short: []string{"./calls -rounds 1 -length 1ms"},
	},
	{
		name: "profiling", what: "the profiler beside runtime/pprof",
		long:  []string{"./profiling"},
		short: []string{"./profiling -short"},
	},
	{
		name: "sessions", what: "profiling sessions of a million entries",
		long:  []string{"./sessions"},
		short: []string{"./sessions -events 10000"},
	},
	{
		name: "load", what: "a million entries a second, and readers against writers",
		long:  []string{"./load"},
		short: []string{"./load -for 200ms -rate 100000"},
	},
	{
		name: "slow", what: "does the sentence on a slow request name the cause?",
		long: []string{"./slow", "./slow sdk", "./slow cost", "./slow agent"},
		short: []string{"./slow -short", "./slow -short sdk", "./slow -short cost",
			"./slow -short agent"},
	},
	{
		name: "deaths", what: "services die under load, and the next start says what was open",
		long:  []string{"./deaths"},
		short: []string{"./deaths -short"},
	},
	{
		name: "trial", what: "backends fail, each in each way and at random, and the books add up",
		long:  []string{"./trial -for 15s -random 5m -parallel 2"},
		short: []string{"./trial -short"},
	},
	{
		name: "scale", what: "one Collector, and what is stored",
		long:  []string{"./scale"},
		short: []string{"./scale -short"},
	},
	{
		name: "pagecost", what: "memory and CPU time of the live page",
		long:  []string{"./pagecost -open 3m"},
		short: []string{"./pagecost -short"},
	},
	{
		name: "transcript", what: "an agent's diagnosis of the shop",
		long:  []string{"./transcript"},
		short: []string{"./transcript -short"},
	},
	{
		name: "pictures", what: "the documents' pictures of the page",
		do: pictures,
	},
}
