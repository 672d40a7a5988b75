package blackbox

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record/mirror"
)

// A Resend sends what processes that are gone have left for a backend. It tries until the backend
// takes or refuses all of it, or until Shutdown. The files then have what remains. All methods may
// be called concurrently.
type Resend struct {
	queue    *queue.Queue[resent]
	log      *slog.Logger
	removing sync.WaitGroup
	warn     sync.Once

	mu    sync.Mutex // guards the field below
	files map[*leaving]bool
}

// A resent is an item of a file: an ExportTraceServiceRequest of OTLP.
type resent struct {
	mirror.Item

	of *leaving
}

// A leaving is a file of which items wait.
type leaving struct {
	to      *Resend
	file    *File
	pending atomic.Int64
}

func (i resent) Count() int   { return max(1, i.Spans) }
func (i resent) Bytes() int   { return len(i.Body) }
func (i resent) Request() int { return len(i.Body) }

// NewResend returns a Resend that sends to s. Log lines call the receiver to.
func NewResend(s queue.Sender, to string, log *slog.Logger) *Resend {
	const batchSpans, batchBytes = 512, 1 << 20
	return &Resend{log: log, files: map[*leaving]bool{}, queue: queue.New(queue.Config[resent]{
		What: "spans of earlier processes", To: to, Logger: log,
		BatchCount: batchSpans, BatchBytes: batchBytes,
		Release: func(i resent) { i.of.release(&i.Item) },
		Send: queue.Encoded(func(body []byte, batch []resent) []byte {
			for _, i := range batch { // the elements of several requests are those of one
				body = append(body, i.Body...)
			}
			return body
		}, s),
	})}
}

// maxWaiting bounds the bytes that wait: a process at its memory limit starts again and again.
const maxWaiting = 16 << 20

// Full reports whether so much waits that the next process must send the rest.
func (r *Resend) Full() bool { return r.queue.Stats().PendingBytes > maxWaiting }

// Add takes over the file of a process, and removes the file when nothing waits any more.
func (r *Resend) Add(f *File, d *Death) {
	of := &leaving{to: r, file: f}
	r.mu.Lock()
	r.files[of] = true
	r.mu.Unlock()
	items := slices.Concat(d.Items, d.Exported())
	if len(items) == 0 {
		of.remove()
		return
	}
	of.pending.Store(int64(len(items)))
	all := make([]resent, len(items))
	for i := range items {
		all[i] = resent{items[i], of}
	}
	r.queue.Add(all...)
}

// release notes in the file that an item is settled. It runs under the queue's lock.
func (l *leaving) release(it *mirror.Item) {
	if err := l.file.MarkTaken(it); err != nil {
		l.to.warn.Do(func() { // on a goroutine, because the log is the program's code
			go l.to.log.Warn("perfline: a black box cannot note what was sent, and may send it again",
				"error", err)
		})
	}
	if l.pending.Add(-1) == 0 {
		l.to.removing.Go(l.remove)
	}
}

func (l *leaving) remove() {
	l.to.mu.Lock()
	delete(l.to.files, l)
	l.to.mu.Unlock()
	if err := l.file.Remove(); err != nil {
		l.to.log.Warn("perfline: the black box of an earlier process cannot be removed", "error",
			err)
	}
}

// Stats returns the counts of the spans.
func (r *Resend) Stats() queue.Stats { return r.queue.Stats() }

// Shutdown makes a last attempt, and ends before ctx does. Then the next process, or the next Start
// of this process, can take the files that remain. The caller has ended all calls of Add.
func (r *Resend) Shutdown(ctx context.Context) error {
	err := r.queue.Shutdown(ctx)
	r.removing.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.files {
		_ = l.file.Close()
	}
	clear(r.files)
	return err
}
