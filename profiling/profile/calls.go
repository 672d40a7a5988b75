package profile

// WithCalls returns a copy of t without the calls for which keep returns false. WithCalls invokes
// keep once for each different call. The caller must set the field Modules of the returned trace.
func (t *Trace) WithCalls(keep func(*Call) bool) *Trace {
	b := NewBuilder(keep)
	table := map[Call]*Call{}
	stacks := map[Position][]*Call{}
	contexts := make([]int, len(t.Contexts))
	for i, c := range t.Contexts {
		contexts[i] = b.contextOf(c)
	}
	for _, s := range t.Samples {
		at, ok := t.Position(s)
		stack, known := stacks[at]
		if ok && !known {
			for c := range t.Calls(s) {
				if table[c] == nil {
					table[c] = &c
				}
				stack = append(stack, table[c])
			}
			stacks[at] = stack
		}
		if s.ContextID != None {
			s.ContextID = contexts[s.ContextID]
		}
		b.Add(stack, s)
	}
	lists, shown := b.Trace(nil), *t
	shown.Resources, shown.Frames, shown.Stacks = lists.Resources, lists.Frames, lists.Stacks
	shown.Samples, shown.Contexts, shown.places = lists.Samples, lists.Contexts, lists.places
	shown.Stats.Filtered += lists.Stats.Filtered
	return &shown
}
