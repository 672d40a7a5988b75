package recipes

import (
	"context"

	"github.com/robfig/cron/v3"

	"github.com/perfline/perfline/marks"
)

// Schedule runs a job at the times of a cron expression. Each run is a unit of work.
func Schedule(ctx context.Context, c *cron.Cron, spec, name string,
	job func(context.Context) error) error {
	_, err := c.AddFunc(spec, func() {
		ctx, t := marks.StartJob(ctx, name)
		defer t.End()
		t.Fail(job(ctx))
	})
	return err
}
