package local

// A KeepReason says why a request is kept whole. Package bridge has the policy.
type KeepReason uint8

// The reasons.
const (
	NotKept        KeepReason = iota
	KeptForProgram            // the program asked for it, by marks.Keep
	KeptForFailure            // a span of it has the status Error
	KeptForTime               // it took longer than its threshold
	KeptForShare              // it belongs to the share of all others

	KeepReasons = iota // how many reasons there are
)

// KeepReasonKey is the key of the attribute that gives the reason, on the local root of a request
// that the sampler did not sample. OpenTelemetry's conventions have no such attribute.
const KeepReasonKey = "perfline.keep.reason"

// String returns the value of the attribute: chosen, failed, slow or share; and "" for NotKept.
func (r KeepReason) String() string {
	if r >= KeepReasons {
		return ""
	}
	return [KeepReasons]string{"", "chosen", "failed", "slow", "share"}[r]
}
