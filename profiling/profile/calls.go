package profile

// WithCalls returns a trace without the calls that keep rejects, as a [Builder] with keep makes it.
// keep is asked once for each line of a function. Modules of the trace are for the caller to set.
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
	rest := b.Trace(nil)
	filtered := rest.Stats.Filtered
	shown := *t
	shown.Resources, shown.Frames, shown.Stacks, shown.Samples, shown.Contexts,
		shown.places = rest.Resources, rest.Frames, rest.Stacks, rest.Samples, rest.Contexts,
		rest.places
	shown.Stats.Filtered += filtered
	return &shown
}
