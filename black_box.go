package perfline

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/counts"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
)

const blackBoxDir = "PERFLINE_BLACKBOX_DIR"

// Deaths are the reports about earlier processes: see [Config].BlackBox. The live page and the
// agents' tools display the reports.
type Deaths blackbox.Reports

// Deaths returns the reports about earlier processes, or nil without [Config].BlackBox.
func (p *Pipeline) Deaths() *Deaths {
	if p.blackBox == nil {
		return nil
	}
	return (*Deaths)(&p.blackBox.reports)
}

// A blackBox is the black box of this process, and reads those of earlier processes. A nil blackBox
// does nothing.
type blackBox struct {
	box      *blackbox.Box
	timeline *record.Timeline
	log      *slog.Logger
	reports  blackbox.Reports
	resend   *blackbox.Resend // nil unless spans go over OTLP

	reading context.Context //nolint:containedctx // ends the reading at Shutdown
	stop    context.CancelFunc
	done    chan struct{} // closed when the files are read; nil before readEarlier
	found   deathCounts
}

// openBlackBox opens the black box. Without one, or if the black box cannot be opened,
// openBlackBox returns nil.
func openBlackBox(c *Config, res *resource.Resource, to *destinations,
	vars *environ.Reader) *blackBox {
	dir := cmp.Or(c.BlackBox, environ.Get(blackBoxDir))
	switch {
	case dir == "":
		return nil
	case c.BlackBox == "" && !filepath.IsAbs(dir):
		vars.Warn(blackBoxDir, environ.Default(blackBoxDir))
		return nil
	}
	b := &blackBox{timeline: (*record.Timeline)(c.Timeline), log: c.Logger}
	without := func(why error) *blackBox {
		set := slog.String("field", "BlackBox")
		if c.BlackBox == "" {
			set = slog.String("variable", blackBoxDir)
		}
		c.Logger.Warn("perfline: there is no black box", set, "error", why)
		return nil
	}
	if !b.timeline.ClaimMirror() {
		return without(fmt.Errorf("%s: another pipeline of this process has one", dir))
	}
	b.reading, b.stop = context.WithCancel(context.Background())
	service := ""
	if v, ok := res.Set().Value("service.name"); ok {
		service = v.AsString()
	}
	var err error
	b.box, err = blackbox.Open(blackbox.Config{
		Dir: dir, Service: service, Resource: otlpenc.EncodeResource(res),
		Origin: b.timeline.Origin(), Self: goruntime.GoroutineID,
		Failed: func(err error) {
			go b.log.Warn("perfline: the black box is off", "error", err)
		},
	})
	if err != nil {
		b.timeline.SetMirror(nil)
		return without(err)
	}
	if to.encoded != nil {
		sender, name := otlp.Spool(to.encoded, b.box.Spool())
		b.resend = blackbox.NewResend(sender, name, c.Logger)
		to.delayed = &spoolOutput{b.box.Spool()}
	} else if to.snapshot == nil && c.TracerProvider == nil {
		to.spool = &spoolOutput{b.box.Spool()}
	}
	b.timeline.SetMirror(b.box.Region())
	return b
}

// blackBoxCounts returns the counts that are not 0.
func blackBoxCounts(all []exporter.Count) (some []blackbox.Count) {
	for _, c := range all {
		if c.N > 0 {
			some = append(some, blackbox.Count{What: c.What, N: c.N})
		}
	}
	return some
}

// A deathCounts counts the files of earlier processes.
type deathCounts struct{ read, unread, older atomic.Uint64 }

const (
	maxRead  = 32 // files of earlier processes that are read; the rest goes
	maxLines = 3  // log lines about processes that ended well
)

// readEarlier reads and reports the files of earlier processes, on a goroutine of its own. From now
// on, the black box also has the counts.
func (b *blackBox) readEarlier(counts func() []exporter.Count) {
	if b == nil {
		return
	}
	b.box.SetCounts(func() []blackbox.Count { return blackBoxCounts(counts()) })
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		if v, ok := record.Protect(b.readAll); !ok {
			b.log.Error("perfline: the black boxes of earlier processes cannot be read", "panic",
				record.PanicValue(v))
		}
	}()
}

// An earlier is what readAll found.
type earlier struct {
	read, ended, older, unread int
	err                        error // of the first file that cannot be read
}

func (b *blackBox) readAll() {
	names, err := blackbox.Find(filepath.Dir(b.box.Name()))
	if err != nil {
		b.log.Warn("perfline: the black boxes of earlier processes cannot be found", "error", err)
		return
	}
	var all earlier
	for _, name := range names {
		if b.reading.Err() != nil {
			break // the next process reads the rest
		}
		f, err := blackbox.Take(name)
		if f != nil {
			err = b.read(f, &all)
		}
		if err != nil {
			b.found.unread.Add(1)
			all.unread++
			all.err = cmp.Or(all.err, err)
		}
	}
	if all.older > 0 {
		b.log.Warn("perfline: old or unfinished black boxes were removed unread", "files",
			all.older, "read", all.read)
	}
	if all.unread > 0 {
		b.log.Warn("perfline: black boxes cannot be read; they stay until you remove them", "files",
			all.unread, "error", all.err)
	}
}

// read reports a file, or removes an old one. If the file cannot be read, the file stays.
func (b *blackBox) read(f *blackbox.File, all *earlier) error {
	var d *blackbox.Death
	var err error
	if all.read < maxRead {
		d, err = f.Read()
	} else {
		err = f.Check()
	}
	switch {
	case err != nil && !blackbox.Unfinished(err):
		_ = f.Close()
		return err
	case d == nil:
		b.found.older.Add(1)
		all.older++
		b.remove(f)
		return nil
	}
	b.found.read.Add(1)
	all.read++
	r := d.Report()
	b.reports.Add(r)
	if r.Kind == blackbox.Ended {
		all.ended++
	}
	if r.Kind != blackbox.Ended || all.ended <= maxLines {
		b.logDeath(r)
	}
	switch {
	case b.resend == nil:
		b.remove(f)
	case b.resend.Full():
		_ = f.Close() // the next process sends what the file has
	default:
		b.resend.Add(f, d)
	}
	return nil
}

func (b *blackBox) remove(f *blackbox.File) {
	if err := f.Remove(); err != nil {
		b.log.Warn("perfline: the black box of an earlier process cannot be removed", "error", err)
	}
}

func (b *blackBox) logDeath(r *blackbox.Report) {
	level := slog.LevelError
	if r.Kind == blackbox.Ended {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("kind", string(r.Kind)), slog.Int("pid", r.PID),
		slog.Time("last", r.Last), slog.String("open", r.OpenByRoute())}
	if r.Crash != nil {
		attrs = append(attrs, slog.String("place", r.Crash.Place()))
	}
	line := "perfline: an earlier process: " + r.Sentence()
	b.log.LogAttrs(context.Background(), level, line, attrs...)
}

// counts returns the counts of this process's black box, and of those of earlier processes.
func (b *blackBox) counts() counts.Table {
	s := counts.BlackBoxStats{
		LeftOut: b.box.Region().LeftOut(), Overwritten: b.box.Spool().Overwritten(),
		Read: b.found.read.Load(), Unread: b.found.unread.Load(), Older: b.found.older.Load(),
	}
	if b.resend != nil {
		s.Earlier = exporter.Stats(b.resend.Stats())
	}
	return counts.BlackBox(s)
}

// end ends what needs the backend. The caller shuts the delivery of spans down next.
func (b *blackBox) end(ctx context.Context) error {
	if b == nil {
		return nil
	}
	if b.done != nil { // nil if Start failed
		select {
		case <-b.done:
		case <-ctx.Done():
			b.stop()
			<-b.done
		}
	}
	b.stop()
	if b.resend == nil {
		return nil
	}
	_ = b.resend.Shutdown(ctx) // the files keep the rest
	return nil
}

// close notes that the process ends well.
func (b *blackBox) close() error {
	if b == nil {
		return nil
	}
	err := b.box.Close()
	b.timeline.SetMirror(nil) // last: the next Start may have a black box
	return err
}

// A spoolOutput keeps finished spans in the black box: the newest spans of a program without a
// backend, and the spans that the annotator delays.
type spoolOutput struct{ spool *mirror.Spool }

var _ bridge.Output = (*spoolOutput)(nil)

func (s *spoolOutput) Accept(all []bridge.Spans) {
	s.spool.Begin()
	defer s.spool.Commit()
	for i := range all {
		s.put(&all[i])
	}
}

func (s *spoolOutput) put(spans *bridge.Spans) (receipt uint64) {
	g := (*otlpenc.Spans)(spans).Group()
	if g == nil { // a span of the program's own making
		return 0
	}
	return s.spool.Put(uint64(max(0, spans.Count)), g, spans.Bytes)
}

// hold keeps spans until done. A nil spoolOutput keeps nothing.
func (s *spoolOutput) hold(spans *bridge.Spans) (receipt uint64) {
	if s == nil {
		return 0
	}
	s.spool.Begin()
	defer s.spool.Commit()
	return s.put(spans)
}

// done ends the hold of spans that have passed.
func (s *spoolOutput) done(receipts []uint64) {
	if s == nil {
		return
	}
	for _, r := range receipts {
		s.spool.Done(r)
	}
}

func (*spoolOutput) ForceFlush(context.Context) error { return nil }
func (*spoolOutput) Shutdown(context.Context) error   { return nil }
