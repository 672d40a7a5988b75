package waiting

import "github.com/perfline/perfline/waits"

// Statuses returns all statuses of a recorder.
func Statuses() []waits.Status {
	return []waits.Status{
		waits.Disarmed, waits.Armed, waits.Paused, waits.InUse, waits.Forbidden, waits.ShutDown,
	}
}
