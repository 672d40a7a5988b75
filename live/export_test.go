package live

import "time"

// Refreshing returns c with another interval of updates to open pages.
func (c Config) Refreshing(every time.Duration) Config {
	c.refresh = every
	return c
}
