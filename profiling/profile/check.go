package profile

import (
	"fmt"
)

// check returns an error for wrong ids, positions and order, which a trace made by hand may
// have. A loop over a trace without such errors ends, and stays within the trace's lists.
func (t *Trace) check() error {
	for i, f := range t.Frames {
		if err := checkOptional("resourceId", f.ResourceID, len(t.Resources),
			"a resource"); err != nil {
			return fmt.Errorf("profile: frames[%d]: %w", i, err)
		}
		if f.Line < 0 || f.Column < 0 {
			return fmt.Errorf("profile: frames[%d]: line %d, column %d: must not be negative", i,
				f.Line, f.Column)
		}
	}
	for i, s := range t.Stacks {
		if err := checkID("frameId", s.FrameID, len(t.Frames), "a frame"); err != nil {
			return fmt.Errorf("profile: stacks[%d]: %w", i, err)
		}
		if err := checkOptional("parentId", s.ParentID, i, "a stack before this one"); err != nil {
			return fmt.Errorf("profile: stacks[%d]: %w", i, err)
		}
	}
	for i := range t.Samples {
		s := &t.Samples[i]
		if err := checkOptional("stackId", s.StackID, len(t.Stacks), "a stack"); err != nil {
			return fmt.Errorf("profile: samples[%d]: %w", i, err)
		}
		if err := checkOptional("context", s.ContextID, len(t.Contexts), "a context"); err != nil {
			return fmt.Errorf("profile: samples[%d]: %w", i, err)
		}
		if i > 0 && s.Timestamp < t.Samples[i-1].Timestamp {
			return fmt.Errorf("profile: samples[%d]: timestamp %v is before %v of the sample before it: samples must be in the order of time",
				i, s.Timestamp, t.Samples[i-1].Timestamp)
		}
	}
	return nil
}

func checkOptional(name string, id, end int, what string) error {
	if id == None {
		return nil
	}
	return checkID(name, id, end, what)
}

func checkID(name string, id, end int, what string) error {
	if id < 0 || id >= end {
		return fmt.Errorf("%s %d: must be the index of %s: %d exist", name, id, what, end)
	}
	return nil
}

// maxDepth is how many frames a recorded stack has at most; of a deeper one the innermost are
// recorded. A chain of callers makes as many stacks as it is long, and conversions go through each
// one: without a limit, some megabytes of stacks would become hundreds of gigabytes.
const maxDepth = 2048
