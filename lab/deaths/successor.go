package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/blackbox"
)

// A reported is what the process after a death says about the death.
type reported struct {
	Kind     blackbox.Kind
	Sentence string
	Place    string
	Crashed  []string // the traces of the requests whose goroutine crashed
	Total    int
	LeftOut  uint64
	Lost     uint64
	Finished int
}

// succeed starts as a service does, delivers what the process before it has left, and prints its
// report.
func succeed(ctx context.Context, args []string) error {
	v := &victim{}
	if err := v.flags(succeedWord).Parse(args); err != nil {
		return err
	}
	pipeline, err := v.start(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	report, err := earlier(ctx, pipeline, v.dir)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	return errors.Join(err, pipeline.Shutdown(ctx))
}

// earlier waits for the report, and until the file is gone because the backend has all of its
// spans.
func earlier(ctx context.Context, pipeline *perfline.Pipeline, dir string) (*reported, error) {
	all := (*blackbox.Reports)(pipeline.Deaths())
	for {
		names, err := blackbox.Find(dir)
		if err != nil {
			return nil, err
		}
		if len(all.All()) > 0 && len(names) == 1 { // its own
			break
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, errors.New("there is no report")
		}
	}
	r := all.All()[0]
	out := &reported{Kind: r.Kind, Sentence: r.Sentence(), Total: r.Total, LeftOut: r.LeftOut,
		Lost: r.Lost, Finished: r.Finished}
	if r.Crash != nil {
		out.Place = r.Crash.Place()
	}
	for i := range r.Open {
		if r.Open[i].Crashed {
			out.Crashed = append(out.Crashed, r.Open[i].TraceID.String())
		}
	}
	return out, nil
}
