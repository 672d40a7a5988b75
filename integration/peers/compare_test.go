package peers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// absent is the value of a missing attribute.
const absent = "–"

// An observed difference is one in one exchange.
type observed struct{ where, what, theirs, ours, when string }

// A comparison gathers what differs in many exchanges.
type comparison struct {
	differences []observed
	compared    map[string][]string // the exchanges in which both have a record, by where
}

// add compares what the two said of an exchange.
func (c *comparison) add(side, when string, theirs, ours telemetry) {
	c.records(side+" span", when, theirs.spans, ours.spans)
	c.records(side+" metrics", when, theirs.metrics, ours.metrics)
	if len(theirs.instruments) > 0 && len(ours.instruments) > 0 {
		c.records(side+" instruments", when, []record{theirs.instruments}, []record{ours.instruments})
	}
}

func (c *comparison) records(where, when string, theirs, ours []record) {
	if len(theirs) != len(ours) {
		c.differences = append(c.differences, observed{where, "recorded", fmt.Sprint(len(theirs)), fmt.Sprint(len(ours)), when})
		return
	}
	if len(theirs) > 0 {
		if c.compared == nil {
			c.compared = map[string][]string{}
		}
		c.compared[where] = append(c.compared[where], when)
	}
	for i := range theirs {
		c.record(where, when, theirs[i], ours[i])
	}
}

func (c *comparison) record(where, when string, theirs, ours record) {
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		d := observed{where, what, value(theirs, what), value(ours, what), when}
		if d.theirs != d.ours {
			c.differences = append(c.differences, d)
		}
	}
}

func value(rec record, what string) string {
	v, ok := rec[what]
	switch {
	case !ok:
		return absent
	case v == "":
		return `""`
	}
	return v
}

// A difference explains what differs between otelhttp and us.
type difference struct {
	where        string
	what         string
	theirs, ours string   // what they have; "…" stands for the rest of any value
	when         []string // the exchanges in which it is so; nil: all but those in but
	but          []string
	why          string
}

func (d difference) explains(o observed) bool {
	is := func(want, got string) bool {
		begin, open := strings.CutSuffix(want, "…")
		return want == got || (open && got != absent && strings.HasPrefix(got, begin))
	}
	return d.where == o.where && d.what == o.what && is(d.theirs, o.theirs) && is(d.ours, o.ours)
}

// check fails for what is different and not explained, and for what is explained
// and not, or no longer everywhere, different.
func (c *comparison) check(t *testing.T, side string, explained []difference) {
	t.Helper()
	seen := make([][]string, len(explained))
	unexplained := map[string][]string{}
	for _, o := range c.differences {
		i := slices.IndexFunc(explained, func(d difference) bool { return d.explains(o) })
		if i < 0 {
			key := fmt.Sprintf("%s: %s: otelhttp has %s, we have %s", o.where, o.what, o.theirs, o.ours)
			unexplained[key] = append(unexplained[key], o.when)
			continue
		}
		if !slices.Contains(seen[i], o.when) {
			seen[i] = append(seen[i], o.when)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(unexplained)) {
		t.Errorf("unexplained: %s; in: %s", key, strings.Join(unexplained[key], " | "))
	}
	for i, d := range explained {
		if !strings.HasPrefix(d.where, side) {
			continue
		}
		want := d.when
		if want == nil {
			want = slices.DeleteFunc(slices.Clone(c.compared[d.where]), func(name string) bool { return slices.Contains(d.but, name) })
		}
		got := slices.Sorted(slices.Values(seen[i]))
		if want = slices.Compact(slices.Sorted(slices.Values(want))); !slices.Equal(got, want) {
			t.Errorf("%s: %s: otelhttp has %s, we have %s: this is explained for %q, but so in %q", d.where, d.what, d.theirs, d.ours, want, got)
		}
	}
}

// The same requests to servers, once with each: whatever the spans and metrics
// differ in is in the table.
func TestSpansOfTheSameRequestsThroughBoth(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		var all comparison
		for _, c := range servedRequests() {
			t.Run(c.name, func(t *testing.T) { all.add("server", c.name, c.telemetry(t, false), c.telemetry(t, true)) })
		}
		all.check(t, "server", differences)
	})
	t.Run("client", func(t *testing.T) {
		var all comparison
		for _, c := range calledRequests() {
			t.Run(c.name, func(t *testing.T) { all.add("client", c.name, c.telemetry(t, false), c.telemetry(t, true)) })
		}
		all.check(t, "client", differences)
	})
}
