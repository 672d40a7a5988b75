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

// A reporter logs the errors that OpenTelemetry cannot return to a caller. Some errors recur with
// every export while a backend is down: the reporter logs an equal text once in repeatInterval,
// with the number of repetitions. A reporter drops OpenTelemetry's errors about wrong variables,
// because Start logs these variables with their names.
type reporter struct {
	log  *slog.Logger
	now  func() time.Time
	vars *environ.Reader

	mu          sync.Mutex // guards the following fields
	last        string
	lastTime    time.Time // of the log line with last
	repetitions int       // of last since lastTime
}

var (
	_ otel.ErrorHandler = (*reporter)(nil)
	_ logr.LogSink      = (*reporter)(nil)
)

const (
	repeatInterval = 10 * time.Minute
	maxReported    = 1 << 10 // bytes of an error
)

func (r *reporter) Handle(err error) {
	// The caller may be a goroutine of OpenTelemetry's SDK, where a panic of err ends the program.
	err = record.SafeError(err)
	duplicate := false
	record.Protect(func() { duplicate = r.isLogged(err) }) // calls the methods Is and As of errors
	if duplicate {
		return
	}
	message := text.Line(err.Error(), maxReported)
	r.mu.Lock()
	now := r.now()
	same := message == r.last
	if same && now.Sub(r.lastTime) < repeatInterval {
		r.repetitions++
		r.mu.Unlock()
		return
	}
	attrs := []any{"error", message}
	if same && r.repetitions > 0 {
		attrs = append(attrs, "repeated", r.repetitions)
	}
	r.last, r.lastTime, r.repetitions = message, now, 0
	r.mu.Unlock()
	r.log.Warn("perfline: OpenTelemetry reports", attrs...)
}

// isLogged reports whether err is OpenTelemetry's error about a variable that Start has logged.
func (r *reporter) isLogged(err error) bool {
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

// Enabled returns false, because the reporter logs only errors. OpenTelemetry's default logger does
// the same.
func (r *reporter) Enabled(int) bool { return false }

func (r *reporter) Init(logr.RuntimeInfo)          {}
func (r *reporter) Info(int, string, ...any)       {}
func (r *reporter) WithValues(...any) logr.LogSink { return r }
func (r *reporter) WithName(string) logr.LogSink   { return r }

// Error logs an error. Error omits the key-value pairs, because the pairs may contain secrets.
func (r *reporter) Error(err error, message string, _ ...any) {
	switch message {
	case "parse duration", "non-positive duration", "duration overflows time.Duration",
		"parse headers":
		return // about variables that package outputs checks
	}
	r.Handle(fmt.Errorf("%s: %w", message, record.SafeError(err)))
}
