package recipes

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/otel/trace"
)

// OpenDB opens a database whose queries are spans, without the noise: no spans for the housekeeping of the pool, for rows, and for queries without a
// request. gorm and sqlx take the *sql.DB.
func OpenDB(driverName, dsn string) (*sql.DB, error) {
	return otelsql.Open(driverName, dsn, otelsql.WithSpanOptions(otelsql.SpanOptions{
		OmitConnectorConnect: true, OmitConnResetSession: true, OmitConnPrepare: true, OmitRows: true, DisableErrSkip: true,
		SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
			return trace.SpanContextFromContext(ctx).IsValid()
		},
	}))
}
