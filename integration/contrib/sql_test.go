package contrib_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/XSAM/otelsql"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite" // the driver
)

// database returns a database in memory whose spans go to tp.
func database(t *testing.T, tp trace.TracerProvider) *sql.DB {
	t.Helper()
	db, err := otelsql.Open("sqlite", ":memory:", otelsql.WithTracerProvider(tp), otelsql.WithAttributes(semconv.DBSystemNameSQLite),
		otelsql.WithSpanOptions(otelsql.SpanOptions{Ping: true, RowsNext: true}))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	return db
}

// statements runs statements of each kind.
func statements(ctx context.Context, t *testing.T, db *sql.DB) {
	t.Helper()
	want := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	want(db.PingContext(ctx))
	_, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT)")
	want(err)
	tx, err := db.BeginTx(ctx, nil)
	want(err)
	insert, err := tx.PrepareContext(ctx, "INSERT INTO orders (product) VALUES (?)")
	want(err)
	for range 3 {
		_, err = insert.ExecContext(ctx, "socks")
		want(err)
	}
	want(insert.Close())
	want(tx.Commit())
	rows, err := db.QueryContext(ctx, "SELECT product FROM orders")
	want(err)
	for rows.Next() {
		var product string
		want(rows.Scan(&product))
	}
	want(rows.Close())
	tx, err = db.BeginTx(ctx, nil)
	want(err)
	want(tx.Rollback())
	if _, err := db.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)"); err == nil {
		t.Error("a wrong statement is no error")
	}
}

func TestSQL(t *testing.T) {
	work := func(root bool) func(*testing.T, trace.TracerProvider) {
		return func(t *testing.T, tp trace.TracerProvider) {
			db := database(t, tp)
			ctx := t.Context()
			if root {
				var span trace.Span
				ctx, span = tp.Tracer("program").Start(ctx, "order")
				defer span.End()
			}
			statements(ctx, t, db)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	alone := slices.Concat([]string{"sql.conn.begin_tx", "sql.conn.begin_tx", "sql.conn.exec", "sql.conn.exec", "sql.conn.ping", "sql.conn.prepare", "sql.conn.query"},
		slices.Repeat([]string{"sql.conn.reset_session"}, 5), []string{"sql.rows", "sql.stmt.exec", "sql.stmt.exec", "sql.stmt.exec", "sql.tx.commit", "sql.tx.rollback"})
	under := slices.Insert(slices.Clone(alone), 0, "order")
	same(t, []scenario{
		{name: "under a span", work: work(true), want: under},
		{name: "under no span", work: work(false), want: alone},
		{name: "limits", setup: setup{limit: 2}, work: work(true), want: under},
	})
}
