package analysis_test

import (
	"github.com/perfline/perfline/waits"
)

var ofWaits = []fixture{
	{
		"wait-group",
		"a wait for goroutines is what these did: they sleep in rest",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			goroutines(j, &got[0], 4)
			if wait := interval(j, &got[0], 0, waits.WaitGroup); wait.By == nil || wait.By.RootID != got[0].RootID {
				j.Errorf("the wait is %+v, want one that a goroutine of the same request ended",
					wait)
			}
		},
	},
	{
		"chain",
		"a chain of goroutines is followed to its end, which works for another request",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.OnCPU); c.In == nil || c.In.Request != "GET /slow" || c.By != nil {
				j.Errorf("in %+v, by %+v; want GET /slow, none", c.In, c.By)
			}
			says(j, &got[0], "waited for GET /slow, which ran on a processor in analysis_test.hash")
			interval(j, &got[0], 0, waits.ChannelReceive)
		},
	},
	{
		"channel-send",
		"a request sends, and the receiver is late in drain",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.ChannelSend)
			in(j, c.Function, "analysis_test.send")
			in(j, by(j, c, "GET /feed"), "analysis_test.drain")
		},
	},
	{
		"channel-closed",
		"a request sends to a channel that another request closes",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, by(j, largest(j, &got[0], waits.ChannelSend), "GET /feed"), "analysis_test.shut")
			says(j, &got[0], "waited to send to a channel that GET /feed closed in analysis_test.shut")
		},
	},
	{
		"select",
		"a request waits in a select statement for a goroutine that sleeps in rest",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			interval(j, &got[0], 0, waits.Select)
		},
	},
	{
		"select-timer",
		"a timer in a select statement ends a wait without a goroutine",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.selectTimer")
			interval(j, &got[0], 0, waits.Timer)
		},
	},
	{
		"after-func",
		"a function of time.AfterFunc is called by a goroutine that no goroutine created",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.receive")
		},
	},
	{
		"deadline",
		"the deadline of a context ends a wait in a select statement",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Timer)
			in(j, c.Function, "analysis_test.awaitAny")
			says(j, &got[0], "waited until the deadline of its context in analysis_test.awaitAny")
			if wait := interval(j, &got[0], 0, waits.Select); wait.By == nil || wait.By.Function != c.By.Function {
				j.Errorf("the wait is %+v, want one that %+v ended", wait, c.By)
			}
		},
	},
	{
		"deadline-afterwards",
		"the function of context.AfterFunc ends a wait, after the deadline of a context",
		func(j judge, _ *recording, got []waits.Request) {
			says(j, &got[0], "waited until the deadline of its context in analysis_test.awaitAny")
		},
	},
	{
		"condition",
		"a wait for a condition is what the goroutine did that signals: it sleeps",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			interval(j, &got[0], 0, waits.Condition)
		},
	},
	{
		"coroutine",
		"goroutines that switch to each other run one at a time: their waits are what the " +
			"other one did",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			interval(j, &got[0], 0, waits.Wait)
		},
	},
	{
		"creator",
		"a request waits for a goroutine that was created late: before that, what its " +
			"creator did counts",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Timer)
			in(j, c.Function, "analysis_test.rest")
			if c.Duration < 2*long {
				j.Errorf("the timers took %v, want the creator's and the goroutine's, %v",
					c.Duration, 2*long)
			}
			in(j, interval(j, &got[0], 0, waits.ChannelReceive).By.Function, "analysis_test.late.func1.1")
		},
	},
	{
		"two-causes",
		"the sentence has both causes, the longer one first",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.lookUpAndRest")
			says(j, &got[0], "waited for a timer in analysis_test.lookUpAndRest; ")
			says(j, &got[0], ": waited for a mutex that GET /search held in (*index).rebuild")
		},
	},
}

var ofLocks = []fixture{
	{
		"mutex",
		"a request waits for a mutex that another one holds in rebuild",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Mutex)
			in(j, c.Function, "(*index).lookUp")
			in(j, by(j, c, "GET /search"), "(*index).rebuild")
			says(j, &got[0], "waited for a mutex that GET /search held in (*index).rebuild")
		},
	},
	{
		"mutex-readers",
		"a writer waits for a reader of a sync.RWMutex",
		func(j judge, _ *recording, got []waits.Request) {
			by(j, largest(j, &got[0], waits.Mutex), "GET /read")
		},
	},
	{
		"mutex-unlocked-by-timer",
		"a function of package sync unlocks a mutex: the functions that waited are named",
		func(j judge, _ *recording, got []waits.Request) {
			says(j, &got[0], "waited for a mutex in (*index).lookUp")
			says(j, &got[0], "waited for a mutex in (*index).add")
		},
	},
	{
		"mutex-passed-on",
		"several goroutines hold a mutex in turn: the one that holds it for long is named, " +
			"and not the last one",
		func(j judge, _ *recording, got []waits.Request) {
			by(j, largest(j, &got[0], waits.Mutex), "GET /search")
			if last := interval(j, &got[0], 0, waits.Mutex); last.By == nil || last.By.Request != "GET /quick" {
				j.Errorf("the wait was ended by %+v, want GET /quick", last.By)
			}
		},
	},
	{
		"pool",
		"several requests have a connection in turn: the one that has it for long is named",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Pool)
			in(j, c.Function, "analysis_test.query")
			in(j, by(j, c, "GET /report"), "analysis_test.query")
		},
	},
	{
		"pool-canceled",
		"a context ends the wait for a connection: the goroutine that cancels the context held none",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.Pool); c.By != nil {
				j.Errorf("the holder is %+v, want none", c.By)
			}
			says(j, &got[0], "waited for a database connection in analysis_test.connect")
		},
	},
	{
		"pool-opens",
		"a request that waits for a new connection of the pool waits for what opens it",
		func(j judge, _ *recording, got []waits.Request) {
			in(j, largest(j, &got[0], waits.Timer).Function, "analysis_test.rest")
			interval(j, &got[0], 0, waits.Pool)
		},
	},
}
