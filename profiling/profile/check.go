package profile

import (
	"fmt"
)

// check finds what is wrong with ids, positions and order, in a trace that was made
// by hand or read. Without that, nothing that goes through the trace leaves its
// lists or never ends.
func (t *Trace) check() error {
	for i, f := range t.Frames {
		if err := checkOptional("resourceId", f.ResourceID, len(t.Resources), "a resource"); err != nil {
			return fmt.Errorf("profile: frames[%d]: %w", i, err)
		}
		if f.Line < 0 || f.Column < 0 {
			return fmt.Errorf("profile: frames[%d]: line %d, column %d: must not be negative", i, f.Line, f.Column)
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
		return fmt.Errorf("%s %d: must be the index of %s, of which there are %d", name, id, what, end)
	}
	return nil
}

// maxDepth is how many frames a stack may have; of a deeper one the innermost are
// recorded, and reading one is an error. A chain of parents
// makes as many stacks as it is long, and conversions take each one's depth: without
// a limit, some megabytes of input would become hundreds of gigabytes.
const maxDepth = 2048

// checkDepth finds stacks that are too deep.
func (t *Trace) checkDepth() error {
	depths := make([]int, len(t.Stacks))
	for i, s := range t.Stacks {
		depths[i] = 1
		if s.ParentID != None {
			depths[i] += depths[s.ParentID]
		}
		if depths[i] > maxDepth {
			return fmt.Errorf("profile: stacks[%d] has %d frames: must be at most %d", i, depths[i], maxDepth)
		}
	}
	return nil
}

// checkUnique finds elements that are equal in all their components.
func (t *Trace) checkUnique() error {
	if i, j := firstEqual(t.Resources); j > 0 {
		return fmt.Errorf("profile: resources[%d] and [%d] are equal (%.80q): each must be there once", i, j, t.Resources[i])
	}
	if i, j := firstEqual(t.Frames); j > 0 {
		return fmt.Errorf("profile: frames[%d] and [%d] are equal (%.80q): each must be there once", i, j, t.Frames[i].Name)
	}
	if i, j := firstEqual(t.Stacks); j > 0 {
		return fmt.Errorf("profile: stacks[%d] and [%d] are equal (frameId %d): each must be there once", i, j, t.Stacks[i].FrameID)
	}
	return nil
}

// firstEqual gives the indexes of the first two equal elements, 0 and 0 when there are none.
func firstEqual[T comparable](list []T) (first, second int) {
	seen := make(map[T]int, len(list))
	for i, v := range list {
		if first, found := seen[v]; found {
			return first, i
		}
		seen[v] = i
	}
	return 0, 0
}
