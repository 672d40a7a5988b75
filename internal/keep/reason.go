// Package keep says why a request is kept.
package keep

// A Reason says why a request is kept whole.
type Reason uint8

// The reasons. The first one that holds counts.
const (
	None   Reason = iota // the request is not kept
	Chosen               // the program asked for it, by marks.Keep
	Failed               // a span of it has the status Error
	Slow                 // it took longer than its threshold
	Share                // it belongs to the share of the others
	Reasons
)

// AttributeKey is the key of the attribute that gives the reason, on the root span of a request that the sampler did not
// sample. There is no attribute for it in OpenTelemetry's conventions.
const AttributeKey = "perfline.keep.reason"

// String returns the value of the attribute: chosen, failed, slow or share; and "" for None.
func (r Reason) String() string {
	if r >= Reasons {
		return ""
	}
	return [Reasons]string{"", "chosen", "failed", "slow", "share"}[r]
}
