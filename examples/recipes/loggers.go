package recipes

import (
	"context"

	"github.com/rs/zerolog"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/perfline/perfline/marks"
)

// LogrusHook adds trace_id and span_id to entries with a context, and makes marks of warnings:
// logrus.AddHook(LogrusHook{}). Log with logrus.WithContext(ctx).
type LogrusHook struct{}

// Levels are all levels, because each entry gets the ids.
func (LogrusHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (LogrusHook) Fire(e *logrus.Entry) error {
	if sc := trace.SpanContextFromContext(e.Context); sc.IsValid() {
		e.Data["trace_id"], e.Data["span_id"] = sc.TraceID().String(), sc.SpanID().String()
	}
	if e.Level <= logrus.WarnLevel {
		marks.Mark(e.Context, e.Message)
	}
	return nil
}

// ZerologHook does the same: logger.Hook(ZerologHook{}). Log with logger.Warn().Ctx(ctx).
type ZerologHook struct{}

// Run implements zerolog.Hook.
func (ZerologHook) Run(e *zerolog.Event, level zerolog.Level, message string) {
	ctx := e.GetCtx()
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		e.Str("trace_id", sc.TraceID().String()).Str("span_id", sc.SpanID().String())
	}
	if level >= zerolog.WarnLevel {
		marks.Mark(ctx, message)
	}
}

// ZapFields returns trace_id and span_id, because zap's hooks get no context: logger.Warn("retry",
// ZapFields(ctx)...).
func ZapFields(ctx context.Context) []zap.Field {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return nil
	}
	return []zap.Field{zap.Stringer("trace_id", sc.TraceID()), zap.Stringer("span_id", sc.SpanID())}
}
