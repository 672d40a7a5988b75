package live

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a connection whose client takes some seconds for each part, and gives up after some of them.
type slow struct {
	*httptest.ResponseRecorder
	parts, most int
	deadline    time.Time
}

var errTimeout = errors.New("timeout")

func (s *slow) SetWriteDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(8 * time.Second)
	if s.parts++; s.parts > s.most || time.Now().After(s.deadline) {
		return 0, errTimeout
	}
	return s.ResponseRecorder.Write(p)
}

// Each part of an answer has its time, however long the answer takes; what the client does not
// take ends it.
func TestPaced(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), partSize/2) // five parts
	write := func(w *slow, ctx context.Context) (n int, err error) {
		paced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { n, err = w.Write(content) })).
			ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		return n, err
	}
	for _, c := range []struct {
		name  string
		most  int
		gone  time.Duration
		parts int
		err   error
	}{
		{"taken slowly", 100, 0, 5, nil},
		{"taken no longer", 2, 0, 2, errTimeout},
		{"gone", 100, 20 * time.Second, 3, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.gone > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.gone)
					defer cancel()
				}
				w := &slow{ResponseRecorder: httptest.NewRecorder(), most: c.most}
				n, err := write(w, ctx)
				if !errors.Is(err, c.err) || n != c.parts*partSize || !bytes.Equal(w.Body.Bytes(), content[:n]) {
					t.Errorf("%d bytes were written with error %v, want %d parts of %d and %v", n, err, c.parts, partSize, c.err)
				}
			})
		})
	}
}
