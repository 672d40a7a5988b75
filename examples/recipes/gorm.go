package recipes

import (
	"github.com/libtnb/sqlite"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"gorm.io/gorm"
)

// OpenGorm opens an SQLite database for gorm. A query of g.WithContext(ctx) is a span of the
// request of ctx.
func OpenGorm(file string) (*gorm.DB, error) {
	db, err := OpenSQL("sqlite", file, semconv.DBSystemNameSQLite)
	if err != nil {
		return nil, err
	}
	return gorm.Open(&sqlite.Dialector{Conn: db}, &gorm.Config{})
}
