package viewers

import "io"

// Recorded is all that the files need of a session. Tests write sessions that no recorder makes: at fixed times, endless, or malformed.
type Recorded = recorded

var (
	WriteRecordedSpeedscope = writeSpeedscope
	WriteTracedFirefox      = writeFirefox
)

// WriteRecordedFirefox writes a session without execution traces.
func WriteRecordedFirefox(w io.Writer, s Recorded) error { return writeFirefox(w, s) }
