package timeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func TestTiming_UT23(t *testing.T) {
	process := newManual()
	request := process.NewChild()
	if at, ok := rec(request).Timing(record.NavigationStart); at != 0 || !ok {
		t.Errorf("navigationStart is %v, %v, want 0, true", at, ok)
	}
	if _, ok := rec(request).Timing(record.ResponseStart); ok {
		t.Error("responseStart has come before it was set")
	}
	for _, set := range []struct {
		name string
		at   time.Duration
	}{{record.RequestStart, 0}, {record.ResponseStart, 5}, {record.ResponseStart, 7}, {record.ResponseEnd, 9}} {
		if err := rec(request).SetTiming(set.name, set.at); err != nil {
			t.Error(err)
		}
	}
	if at, ok := rec(request).Timing(record.RequestStart); at != 0 || !ok {
		t.Errorf("requestStart is %v, %v, want 0, true: the origin is a moment as any other", at, ok)
	}
	if at, ok := rec(request).Timing(record.ResponseStart); at != 7 || !ok {
		t.Errorf("responseStart is %v, %v, want what was set last, 7ns", at, ok)
	}
	if at, ok := rec(request).Timing(record.ResponseEnd); at != 9 || !ok {
		t.Errorf("responseEnd is %v, %v, want 9ns", at, ok)
	}
	for _, name := range []string{record.ResponseStart, record.ResponseEnd} {
		if at, ok := rec(process.NewChild()).Timing(name); ok || at != 0 {
			t.Errorf("another request has %s, too, at %v", name, at)
		}
	}
}

func TestSetTimingErrors_UT23(t *testing.T) {
	process := newManual()
	request := process.NewChild()
	for _, c := range []struct {
		tl   *observer.Timeline
		name string
		at   time.Duration
		want string
	}{
		{process.Timeline, record.ResponseStart, 1, "only a request's"},
		{request, record.NavigationStart, 1, "must be one of requestStart, responseStart and responseEnd"},
		{request, "domComplete", 1, `"domComplete"`},
		{request, "responsestart", 1, `"responsestart"`},
		{request, record.ResponseStart, -1, "-1ns"},
	} {
		if err := rec(c.tl).SetTiming(c.name, c.at); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("SetTiming(%q, %v): %v, want an error with %q", c.name, c.at, err, c.want)
		}
	}
	if _, ok := rec(process.Timeline).Timing(record.NavigationStart); ok {
		t.Error("the process's timeline has a navigationStart: it is a Worker")
	}
}
