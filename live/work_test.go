package live_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// A recording program has sessions to show.
type recording struct {
	quiet
	recorder *sessions.Recorder
}

func (r recording) Sessions() *sessions.Recorder { return r.recorder }

// Two files are made at a time. A third waits for its turn, for a short time, and not when its client has gone.
func TestWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workTime = 3 * time.Second
		tl := observer.NewTimeline(observer.TimelineOptions{})
		defer tl.Close()
		recorder := sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
		defer recorder.Close()
		id, err := recorder.Start(t.Context(), sessions.StartOptions{NoSamples: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := recorder.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		source := recording{quiet{recent: requests.NewRecent(requests.Config{})}, recorder}
		p := &program{t: t, page: live.Handler(source, live.Config{Logger: slog.New(slog.DiscardHandler)})}
		file := func(ctx context.Context) *httptest.ResponseRecorder {
			return p.do(ask(http.MethodGet, "data/v1/sessions/1/firefox", "").WithContext(ctx))
		}

		release := p.occupy()
		began := time.Now()
		rec := file(t.Context())
		if took := time.Since(began); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || took != workTime {
			t.Errorf("a third: %d %v after %v, want to be sent away after %v", rec.Code, rec.Header(), took, workTime)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if rec = file(gone); rec.Body.Len() > 0 || time.Since(began) != workTime {
			t.Errorf("a third that is gone: %d bytes after %v", rec.Body.Len(), time.Since(began)-workTime)
		}
		released := make(chan struct{})
		time.AfterFunc(time.Second, func() {
			defer close(released)
			release()
		})
		if rec = file(t.Context()); rec.Code != http.StatusOK || rec.Body.Len() == 0 || time.Since(began) != workTime+time.Second {
			t.Errorf("a third, when the others are done after a second: %d after %v", rec.Code, time.Since(began)-workTime)
		}
		<-released
	})
}
