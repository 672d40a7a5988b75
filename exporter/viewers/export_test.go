package viewers

// Recorded is all that the files need of a session. Tests write sessions that no recorder makes: at fixed times, endless, or malformed.
type Recorded = recorded

var (
	WriteRecordedSpeedscope = writeSpeedscope
	WriteRecordedFirefox    = writeFirefox
)
