//go:build !race

package pyroscope_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/pyroscope"
)

// Without QueueBytes 16 MiB wait at most. To encode more than that takes long with the race detector.
func TestQueueBytesByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noise := make([]byte, 400_000)
		_, _ = rand.Read(noise) // never fails
		var large bytes.Buffer  // some 400 kB, which cannot be compressed
		if err := (&pprofpb.Profile{Comments: []string{hex.EncodeToString(noise)}}).Write(&large); err != nil {
			t.Fatal(err)
		}
		p, err := pyroscope.StartProcess(pyroscope.Config{
			ServerAddress: "http://server", Resource: service("app"), Logger: slog.New(slog.DiscardHandler), HTTPClient: &http.Client{Transport: unreachable{}},
		}, pyroscope.Process{
			Now: time.Now, Profiler: func(func()) (pyroscope.Profiler, error) { return &played{}, nil },
			Snapshots: []pyroscope.Snapshot{{Kind: "heap", Take: func(w io.Writer) error { _, err := w.Write(large.Bytes()); return err }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50*tick + time.Second)
		if s := p.Stats(); s.PendingBytes > 16<<20 || s.PendingBytes < 15<<20 || s.Dropped == 0 {
			t.Errorf("counts are %+v, want almost 16 MiB to wait", s)
		}
		_ = p.Shutdown(t.Context())
	})
}
