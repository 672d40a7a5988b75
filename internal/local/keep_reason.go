package local

// A KeepReason is the reason why a policy keeps a whole request. Package bridge defines the policy.
type KeepReason uint8

// The reasons.
const (
	NotKept        KeepReason = iota
	KeptForProgram            // the program called marks.Keep
	KeptForFailure            // the status of a span of the request is Error
	KeptForTime               // the duration of the request reached the threshold
	KeptForShare              // a random share of all other requests

	KeepReasons = iota // the number of reasons
)

// KeepReasonKey is the key of the reason's attribute, on the local root of a request that the
// sampler dropped. OpenTelemetry's conventions define no such attribute.
const KeepReasonKey = "perfline.keep.reason"

// String returns the value of the attribute [KeepReasonKey]: "chosen", "failed", "slow" or "share".
// String returns "" for NotKept.
func (r KeepReason) String() string {
	if r >= KeepReasons {
		return ""
	}
	return [KeepReasons]string{"", "chosen", "failed", "slow", "share"}[r]
}
