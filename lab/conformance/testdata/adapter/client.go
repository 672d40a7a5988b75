// Package adapter offers perfline's delivery, senders and retries to packages that cannot import perfline's internal packages:
// the shims in the copies of OpenTelemetry's exporters. It translates, and decides nothing.
package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// Options are the options of a client: fields of perfline's exporter, and variables for the options that have no field.
type Options struct {
	Config    exporter.Config
	Variables map[string]string // of NewDelivery; they hide those of the process
}

// Set sets a variable.
func (o *Options) Set(name, value string) {
	if o.Variables == nil {
		o.Variables = map[string]string{}
	}
	o.Variables[name] = value
}

// Milliseconds returns a duration as a variable has it. A positive one is at least 1, because 0 means no limit.
func Milliseconds(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, 0)+time.Millisecond-1)/time.Millisecond), 10)
}

// SetTimes translates the timeout of a request, or of all of them, and the bound of retries. A client without retries has the time of
// one request for all.
func (o *Options) SetTimes(timeout time.Duration, retries bool, maxElapsed time.Duration) {
	o.Set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", Milliseconds(timeout))
	if !retries {
		maxElapsed = timeout
	}
	o.Set("OTEL_BSP_EXPORT_TIMEOUT", Milliseconds(maxElapsed))
}

var environment sync.Mutex

// With calls do while the process has the variables of o.
func (o *Options) With(do func()) {
	environment.Lock()
	defer environment.Unlock()
	for name, value := range o.Variables {
		before, set := os.LookupEnv(name)
		_ = os.Setenv(name, value)
		defer func() {
			if _ = os.Unsetenv(name); set {
				_ = os.Setenv(name, before)
			}
		}()
	}
	do()
}

// A Client exports spans by a delivery, and waits for each batch.
type Client struct {
	Options Options
	// Rejected makes the error of spans that the receiver turned down.
	Rejected func(count int64, message string) error

	delivery *exporter.Delivery
	groups   otlpenc.Groups
	rejected rejections
}

// Start starts the delivery.
func (c *Client) Start(context.Context) (err error) {
	c.Options.Config.Logger = slog.New(&c.rejected)
	c.Options.With(func() { c.delivery, err = exporter.NewDelivery(c.Options.Config) })
	return err
}

// Stop shuts the delivery down.
func (c *Client) Stop(ctx context.Context) error {
	if c.delivery == nil {
		return nil
	}
	return c.delivery.Shutdown(ctx)
}

// ExportSpans delivers spans, also those that are not sampled, as an exporter does. Unlike it, a delivery does not read ctx's values.
func (c *Client) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		c.groups.Encode(s, func(one Spans) { c.delivery.Accept([]bridge.Spans{bridge.Spans(one)}) })
	}
	err := c.delivery.ForceFlush(ctx)
	if err != nil {
		if count, message := c.rejected.take(); count > 0 {
			err = errors.Join(err, c.Rejected(count, message))
		}
	}
	return err
}

// rejections is a handler of log records. It has what the delivery logs about spans that the receiver turned down.
type rejections struct {
	mu      sync.Mutex
	count   int64
	message string
}

// take waits a little for the log, which comes after the end of ForceFlush.
func (r *rejections) take() (count int64, message string) {
	for range 100 {
		r.mu.Lock()
		count, message, r.count = r.count, r.message, 0
		r.mu.Unlock()
		if count > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return count, message
}

func (r *rejections) Enabled(context.Context, slog.Level) bool { return true }
func (r *rejections) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *rejections) WithGroup(string) slog.Handler            { return r }

func (r *rejections) Handle(_ context.Context, record slog.Record) error {
	if !strings.Contains(record.Message, "turned down") {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "lost":
			n, _ := strconv.ParseInt(fmt.Sprint(a.Value), 10, 64)
			r.count += n
		case "reason":
			r.message = a.Value.String()
		}
		return true
	})
	return nil
}
