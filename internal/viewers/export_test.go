package viewers

import (
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// Recorded is all that the files need of a session. Tests write sessions that no recorder makes: at fixed times, endless, or malformed.
type Recorded = recording

var (
	WriteRecordedSpeedscope = writeSpeedscope
	WriteRecordedFirefox    = writeFirefox
)

// NewRecordedRequest returns a request as the files need it.
func NewRecordedRequest(q requests.Request, t *profile.Trace) Recorded {
	return newRequestRecording(q, t)
}
