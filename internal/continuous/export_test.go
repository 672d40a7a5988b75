package continuous

// Combine returns the settings of a source for two receivers.
func Combine(a, b Settings) Settings { return a.with(b) }
