// Package scope has the name by which perfline's own spans and metrics are known.
package scope

// Name is the instrumentation scope of what this module makes: spans of requests, of calls and of measures, and metrics.
const Name = "github.com/perfline/perfline"
