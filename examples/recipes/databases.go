package recipes

import (
	"context"
	"database/sql"

	"github.com/XSAM/otelsql"
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
)

// OpenSQL opens a database. Each query is a span, of the request in its context. Rows and the
// housekeeping of the pool make no spans. gorm and sqlx accept the *sql.DB.
func OpenSQL(driverName, dsn string, attrs ...attribute.KeyValue) (*sql.DB, error) {
	return otelsql.Open(driverName, dsn, otelsql.WithAttributes(attrs...),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			OmitConnectorConnect: true,
			OmitConnResetSession: true,
			OmitConnPrepare:      true,
			OmitRows:             true,
			DisableErrSkip:       true,
		}))
}

// OpenPGX does the same for pgx's own pool.
func OpenPGX(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	t := otelpgx.NewTracer()
	// not its spans of connecting, preparing and waiting for a connection
	config.ConnConfig.Tracer = struct {
		pgx.QueryTracer
		pgx.BatchTracer
		pgx.CopyFromTracer
	}{t, t, t}
	return pgxpool.NewWithConfig(ctx, config)
}
