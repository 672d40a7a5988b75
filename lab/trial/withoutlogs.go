package main

import (
	"context"
	"fmt"
	"strings"
)

const withoutLogsName = "jaeger/without logs"

// withoutLogsRow is a service that sends log records to a Jaeger, which does not know them.
func withoutLogsRow() row {
	return row{name: withoutLogsName, part: signalsPart, start: addJaegerWithoutLogs,
		try: tryWithoutLogs}
}

func tryWithoutLogs(ctx context.Context, t *trial, set settings) error {
	if err := t.begin(ctx, set.rate, 0, often...); err != nil {
		return err
	}
	if err := t.healthyPhase(ctx, set, true); err != nil {
		return err
	}
	var err error
	if t.faulty, err = t.phaseOf(ctx, set.length); err != nil {
		return err
	}
	if err := t.settle(ctx, set, true); err != nil {
		return err
	}
	for _, f := range t.flows {
		if lost := f.book.Settled() - f.book.Delivered; (lost > 0) != (f.what != spans) ||
			f.book.Accepted == 0 {
			t.fail(fmt.Errorf("%d of %d %s were lost, want none of the spans and all of the others",
				lost, f.book.Accepted, f.what))
		}
	}
	t.fail(saidOnce(t.log.String()))
	return nil
}

// saidOnce returns an error unless a service's log has one line about log records, which says that
// the receiver does not know them.
func saidOnce(log string) error {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "log records") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "the receiver does not know log records") {
		return fmt.Errorf("the service's log has %d lines about log records, want one, that the receiver does not know them: %q", len(lines), lines)
	}
	return nil
}
