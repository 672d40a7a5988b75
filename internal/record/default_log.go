package record

import (
	"context"
	"log"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// LogTo returns a replacement for the handler next. A handler that wraps next must call the
// replacement instead of next. If next is not slog's default handler, LogTo returns next.
//
// Without LogTo, the program could hang. slog's default handler prints through package log. If the
// wrapper becomes slog's default, [slog.SetDefault] redirects the lines of package log to the
// wrapper. The wrapper's lines would then return to the wrapper.
//
// The replacement prints the same lines as slog's default handler. LogTo reads the destination of
// package log once, during the call. A read of the destination for each line could deadlock,
// because package log may hold a lock.
func LogTo(next slog.Handler) slog.Handler {
	if next == nil || reflect.TypeOf(next).String() != "*slog.defaultHandler" {
		return next
	}
	to, prefix, flags := log.Writer(), log.Prefix(), log.Flags()
	// package log prints to slog's default logger: SetDefault was called
	if reflect.TypeOf(to).String() == "*slog.handlerWriter" {
		to = os.Stderr
		if flags == 0 {
			flags = log.LstdFlags // SetDefault cleared the flags
		}
	}
	const files = log.Lshortfile | log.Llongfile // package log would print the wrong caller
	return &lineHandler{next: next, lines: log.New(to, prefix, flags&^files), files: flags & files}
}

// A lineHandler prints as slog's default handler does.
type lineHandler struct {
	next  slog.Handler // decides about levels
	lines *log.Logger
	files int // flags of package log
	with  []func(slog.Handler) slog.Handler
}

var _ slog.Handler = (*lineHandler)(nil)

func (h *lineHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// bareLine is the output of slog.TextHandler for a record without a time, before the attributes.
const bareLine = `level=INFO msg=""`

func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	var attrs strings.Builder
	var text slog.Handler = slog.NewTextHandler(&attrs,
		&slog.HandlerOptions{Level: slog.Level(math.MinInt)})
	for _, with := range h.with {
		text = with(text)
	}
	bare := r // the attributes only
	bare.Time, bare.Message, bare.Level, bare.PC = time.Time{}, "", slog.LevelInfo, 0
	if err := text.Handle(ctx, bare); err != nil {
		return err
	}
	line := strings.TrimSuffix(strings.TrimPrefix(attrs.String(), bareLine), "\n")
	return h.lines.Output(0, h.place(r.PC)+r.Level.String()+" "+r.Message+line)
}

// place returns the source line of the record, as package log prints it.
func (h *lineHandler) place(pc uintptr) string {
	if h.files == 0 || pc == 0 {
		return ""
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	file := frame.File
	if h.files&log.Lshortfile != 0 {
		file = filepath.Base(file)
	}
	return file + ":" + strconv.Itoa(frame.Line) + ": "
}

func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(text slog.Handler) slog.Handler { return text.WithAttrs(attrs) })
}

func (h *lineHandler) WithGroup(name string) slog.Handler {
	return h.and(func(text slog.Handler) slog.Handler { return text.WithGroup(name) })
}

func (h *lineHandler) and(with func(slog.Handler) slog.Handler) slog.Handler {
	c := *h
	c.with = append(c.with[:len(c.with):len(c.with)], with)
	return &c
}
