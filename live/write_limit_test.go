package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/requests"
)

// slow is a connection whose client takes some seconds for each part, and gives up after some of them.
type slow struct {
	*httptest.ResponseRecorder
	parts, most int
	deadline    time.Time
}

func (s *slow) SetWriteDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(8 * time.Second)
	if s.parts++; s.parts > s.most || time.Now().After(s.deadline) {
		return 0, errors.New("timeout")
	}
	return s.ResponseRecorder.Write(p)
}

// Each part of an answer has its time, however long the answer takes. A client that takes nothing, or is gone, ends it.
func TestWriteLimit(t *testing.T) {
	const partSize = 64 << 10
	for _, c := range []struct {
		name  string
		most  int
		gone  time.Duration
		parts int // that the client gets of five
		asked int // that it is offered
	}{
		{"taken slowly", 100, 0, 5, 5},
		{"taken no longer", 2, 0, 2, 3},
		{"gone", 100, 20 * time.Second, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, request := aQuiet(t, requests.Config{})
				var attrs []otelattribute.KeyValue
				for i := range 128 { // the values of a span; with their keys they are some of a fifth part
					attrs = append(attrs, otelattribute.String(fmt.Sprint("key", i), strings.Repeat("\x00", 350)))
				}
				path := request("large", attrs...)
				all := p.do(ask(http.MethodGet, path, "")).Body.Bytes()
				if len(all) <= 4*partSize || len(all) > 5*partSize {
					t.Fatalf("the answer has %d bytes, want five parts of at most %d", len(all), partSize)
				}
				ctx := t.Context()
				if c.gone > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.gone)
					defer cancel()
				}
				w := &slow{ResponseRecorder: httptest.NewRecorder(), most: c.most}
				p.page.ServeHTTP(w, ask(http.MethodGet, path, "").WithContext(ctx))
				if want := all[:min(len(all), c.parts*partSize)]; w.parts != c.asked || !bytes.Equal(w.Body.Bytes(), want) {
					t.Errorf("%d bytes were taken of %d parts, want %d of %d", w.Body.Len(), w.parts, len(want), c.asked)
				}
			})
		})
	}
}
