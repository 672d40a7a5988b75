package mcpserver

// compareArguments are of compare_requests.
type compareArguments struct {
	Slow  string `json:"slow" jsonschema:"id of the slow request, from list_requests"`
	Usual string `json:"usual,omitempty" jsonschema:"id of a usual request; without it, one of the same route that took the usual time"`
}
