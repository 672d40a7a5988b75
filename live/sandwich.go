package live

import (
	"context"
	"net/url"

	"github.com/perfline/perfline/internal/profiles"
)

// A sandwich is a function with its callers and its callees.
type sandwich struct {
	profileHead
	Function int `json:"function"` // index
	// the function is the first; the parent of a caller is called by it
	Callers   flameNodes    `json:"callers"`
	Callees   flameNodes    `json:"callees"`   // the function is the first
	Functions []functionRow `json:"functions"` // of the nodes
}

// newSandwich is the view of a profile around the function that the parameter function names.
func newSandwich(_ context.Context, _ *handler, p *profiled, query url.Values) (any, error) {
	all := profiles.Functions(p.trace, p.samples)
	name, err := functionNamed(all, query.Get("function"))
	if err != nil {
		return nil, err
	}
	between, _ := profiles.NewTree(p.trace, p.samples).Sandwich(name)
	functions := newFunctionIndex(all)
	s := sandwich{
		profileHead: p.head(), Function: functions.of(name),
		Callers: newFlameNodes(between.Callers, functions),
		Callees: newFlameNodes(between.Callees, functions),
	}
	s.Functions = functions.rows
	return s, nil
}
