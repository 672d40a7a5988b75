package perfline

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/internal/text"
)

// A reporter logs the errors that OpenTelemetry cannot return to a caller. Some come
// again with every export while a backend is away: a text that repeats is logged
// once in repeatInterval, with how often it came. OpenTelemetry's own complaints about wrong
// variables are not logged: Start has logged these variables with their names.
type reporter struct {
	log  *slog.Logger
	now  func() time.Time
	vars *environ.Reader

	mu       sync.Mutex // guards what follows
	last     string
	logged   time.Time // when last was
	repeated int       // times since
}

var (
	_ otel.ErrorHandler = (*reporter)(nil)
	_ logr.LogSink      = (*reporter)(nil)
)

const (
	repeatInterval = 10 * time.Minute
	maxReported    = 1 << 10 // bytes of an error
)

// Handle implements OpenTelemetry's ErrorHandler.
func (r *reporter) Handle(err error) {
	// whoever has made it: the caller may be a goroutine of OpenTelemetry's SDK
	err = record.SafeError(err)
	known := false
	record.Protect(func() { known = r.known(err) }) // which calls the methods Is and As of errors
	if known {
		return
	}
	said := text.Line(err.Error(), maxReported)
	r.mu.Lock()
	now := r.now()
	same := said == r.last
	if same && now.Sub(r.logged) < repeatInterval {
		r.repeated++
		r.mu.Unlock()
		return
	}
	attrs := []any{"error", said}
	if same && r.repeated > 0 {
		attrs = append(attrs, "repeated", r.repeated)
	}
	r.last, r.logged, r.repeated = said, now, 0
	r.mu.Unlock()
	r.log.Warn("perfline: OpenTelemetry reports", attrs...)
}

// known reports whether err is OpenTelemetry's about a variable that Start has logged.
func (r *reporter) known(err error) bool {
	var escape url.EscapeError
	var number *strconv.NumError
	switch text := err.Error(); {
	case strings.HasPrefix(text, "unsupported sampler: "):
		return r.vars.Wrong(spanconfig.Sampler)
	case strings.HasPrefix(text, "parsing sampler argument: "),
		strings.HasPrefix(text, "invalid trace ID ratio: "):
		return r.vars.Wrong(spanconfig.SamplerArg)
	case errors.Is(err, resource.ErrPartialResource), errors.As(err, &escape):
		return r.vars.Wrong(resourceAttributes)
	case strings.HasPrefix(text, "invalid "+spanconfig.LogAttributeCount+" "):
		return r.vars.Wrong(spanconfig.LogAttributeCount)
	case strings.HasPrefix(text, "invalid "+spanconfig.LogAttributeValueLength+" "):
		return r.vars.Wrong(spanconfig.LogAttributeValueLength)
	case errors.As(err, &number):
		return r.vars.Wrong(cardinalityLimit)
	}
	return false
}

// Init implements [logr.LogSink], for what OpenTelemetry logs.
func (r *reporter) Init(logr.RuntimeInfo) {}

// Enabled leaves out all but errors, as OpenTelemetry's own logger does.
func (r *reporter) Enabled(int) bool { return false }

// Info is never called.
func (r *reporter) Info(int, string, ...any) {}

// Error reports an error without the values that belong to it, which may be secrets.
func (r *reporter) Error(err error, message string, _ ...any) {
	switch message {
	case "parse duration", "non-positive duration", "duration overflows time.Duration",
		"parse headers":
		return // of variables that package outputs has checked
	}
	r.Handle(fmt.Errorf("%s: %w", message, record.SafeError(err)))
}

// WithValues implements [logr.LogSink].
func (r *reporter) WithValues(...any) logr.LogSink { return r }

// WithName implements [logr.LogSink].
func (r *reporter) WithName(string) logr.LogSink { return r }
