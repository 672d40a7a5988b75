package recipes

import (
	"context"

	"github.com/robfig/cron/v3"

	"github.com/perfline/perfline/marks"
)

// Unit does some work as a unit of its own, with a trace, marks and a profile.
func Unit(ctx context.Context, name string, work func(context.Context) error) error {
	ctx, t := marks.StartJob(ctx, name)
	defer t.End()
	err := work(ctx)
	t.Fail(err)
	return err
}

// Schedule runs a job at the times of a cron expression. Each run is a unit of work.
func Schedule(ctx context.Context, c *cron.Cron, spec, name string,
	job func(context.Context) error) error {
	_, err := c.AddFunc(spec, func() { _ = Unit(ctx, name, job) })
	return err
}
