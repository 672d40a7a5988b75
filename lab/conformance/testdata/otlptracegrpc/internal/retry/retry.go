// Package retry makes attempts by perfline's queue, which has its own pauses. It is in place of OpenTelemetry's package, whose tests it runs.
package retry

import "github.com/perfline/perfline/conformance/adapter"

type (
	Config       = adapter.RetryConfig
	RequestFunc  = adapter.RequestFunc
	EvaluateFunc = adapter.EvaluateFunc
)

var DefaultConfig = adapter.DefaultRetryConfig
