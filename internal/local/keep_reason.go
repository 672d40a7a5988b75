package local

// A KeepReason is the reason why a policy keeps a whole request. Package bridge defines the policy.
type KeepReason uint8

// The reasons.
const (
	NotKept            KeepReason = iota
	KeptForProgram                // the program called marks.Keep
	KeptForFailure                // the local root has the status Error
	KeptForTime                   // the duration reached the threshold of the route
	KeptForErrorInside            // only a span inside the request has the status Error
	KeptForShare                  // a random share of all other requests

	KeepReasons = iota // the number of reasons
)

// KeepReasonKey is the key of the reason's attribute, on the local root of a request that the
// sampler dropped. OpenTelemetry's conventions define no such attribute.
const KeepReasonKey = "perfline.keep.reason"

// String returns the value of the attribute: "chosen", "failed", "slow", "error_inside" or "share".
// String returns "" for NotKept.
func (r KeepReason) String() string {
	if r >= KeepReasons {
		return ""
	}
	return [KeepReasons]string{"", "chosen", "failed", "slow", "error_inside", "share"}[r]
}
