package exporter_test

import (
	"testing"
)

// Stats, ForceFlush and Shutdown bring in what has ended, once for each call.
func TestReadersBringInWhatHasEnded(t *testing.T) {
	for name, read := range map[string]func(*testing.T, sender){
		"Stats": func(t *testing.T, d sender) {
			if s := d.Stats(); s.Accepted != 1 {
				t.Errorf("stats %+v, want 1 accepted", s)
			}
		},
		"ForceFlush": func(t *testing.T, d sender) {
			if err := d.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"Shutdown": func(t *testing.T, d sender) {
			if err := d.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbles(t, func(t *testing.T, s signal) {
				d, r, _ := s.to(t, fine, 0)
				calls := 0
				d.OnRead(func() {
					if calls++; calls == 1 {
						d.accept("ended before")
					}
				})
				read(t, d)
				if name != "Stats" && r.taken() != 1 {
					t.Errorf("%d arrived with the call, want 1", r.taken())
				}
				if calls != 1 {
					t.Errorf("%d calls, want 1", calls)
				}
				_ = d.Shutdown(t.Context())
			})
		})
	}
}
