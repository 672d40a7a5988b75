package profile

// Join joins several traces of one profiler into one trace. The parts are results of
// profiling.Profiler.TakeTrace and Stop, in the order of the calls. Join adds up the counts of
// Stats, and CPUTime. Join copies Started from the first part, and the other fields, such as Engine
// and SampleCost, from the last part. Join does not change the parts.
func Join(parts ...*Trace) *Trace {
	b := NewBuilder(nil)
	places := map[place]int32{} // ids, from 1
	for i, t := range parts {
		frames := make([]int, len(t.Frames))
		for i, f := range t.Frames {
			if f.ResourceID != None {
				f.ResourceID = intern(b.resources, &b.t.Resources, t.Resources[f.ResourceID])
			}
			frames[i] = intern(b.frames, &b.t.Frames, f)
		}
		stacks := make([]int, len(t.Stacks))
		for i, s := range t.Stacks { // a parent stands before its children
			s.FrameID = frames[s.FrameID]
			if s.ParentID != None {
				s.ParentID = stacks[s.ParentID]
			}
			stacks[i] = intern(b.stacks, &b.t.Stacks, s)
		}
		ids := make([]int32, len(t.places)+1)
		for i, p := range t.places {
			p.parent, p.stack = ids[p.parent], int32(stacks[p.stack])
			id, known := places[p]
			if !known {
				b.t.places = append(b.t.places, p)
				id = int32(len(b.t.places))
				places[p] = id
			}
			ids[i+1] = id
		}
		contexts := make([]int, len(t.Contexts))
		for i, c := range t.Contexts {
			contexts[i] = b.contextOf(c)
		}
		for _, s := range t.Samples {
			if s.StackID != None {
				s.StackID = stacks[s.StackID]
			}
			if s.ContextID != None {
				s.ContextID = contexts[s.ContextID]
			}
			s.place = ids[s.place]
			b.t.Samples = append(b.t.Samples, s)
		}
		if i == 0 {
			b.t.Started = t.Started
		}
		b.t.Origin, b.t.Engine, b.t.Interval = t.Origin, t.Engine, t.Interval
		b.t.Stopped, b.t.Modules = t.Stopped, t.Modules
		b.t.CPUTime += t.CPUTime
		b.t.Stats.add(t.Stats)
	}
	return b.Trace(nil)
}

func (s *Stats) add(next Stats) {
	s.Samples += next.Samples
	s.Lost += next.Lost
	s.Truncated += next.Truncated
	s.Filtered += next.Filtered
	s.Gaps += next.Gaps
	s.GapTime += next.GapTime
	s.BusyGaps += next.BusyGaps
	s.BusyTime += next.BusyTime
	s.SampleCost = next.SampleCost
}
