package profile

import "fmt"

// check returns an error for ids that are out of range, negative positions and wrong order. A loop
// over a trace without such errors ends, and stays within the trace's lists.
func (t *Trace) check() error {
	for i, f := range t.Frames {
		err := checkID("resourceId", f.ResourceID, None, len(t.Resources), "a resource")
		if f.Line < 0 || f.Column < 0 {
			err = fmt.Errorf("line %d, column %d: must not be negative", f.Line, f.Column)
		}
		if err != nil {
			return fmt.Errorf("profile: frames[%d]: %w", i, err)
		}
	}
	for i, s := range t.Stacks {
		if err := checkID("frameId", s.FrameID, 0, len(t.Frames), "a frame"); err != nil {
			return fmt.Errorf("profile: stacks[%d]: %w", i, err)
		}
		if err := checkID("parentId", s.ParentID, None, i, "a stack before this one"); err != nil {
			return fmt.Errorf("profile: stacks[%d]: %w", i, err)
		}
	}
	for i := range t.Samples {
		s := &t.Samples[i]
		if err := checkID("stackId", s.StackID, None, len(t.Stacks), "a stack"); err != nil {
			return fmt.Errorf("profile: samples[%d]: %w", i, err)
		}
		if err := checkID("context", s.ContextID, None, len(t.Contexts), "a context"); err != nil {
			return fmt.Errorf("profile: samples[%d]: %w", i, err)
		}
		if i > 0 && s.Timestamp < t.Samples[i-1].Timestamp {
			return fmt.Errorf("profile: samples[%d]: timestamp %v is before %v of the sample before it: samples must be in the order of time",
				i, s.Timestamp, t.Samples[i-1].Timestamp)
		}
	}
	return nil
}

// checkID returns an error unless least <= id < end.
func checkID(name string, id, least, end int, what string) error {
	if id < least || id >= end {
		return fmt.Errorf("%s %d: must be the index of %s: %d exist", name, id, what, end)
	}
	return nil
}

// maxDepth is the largest number of frames of a recorded stack: the innermost frames of a deeper
// stack are recorded. A chain of callers has as many stacks as frames, and conversions visit each
// stack's frames. Without a limit, some megabytes of stacks would become hundreds of gigabytes.
const maxDepth = 2048
