package contrib_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"github.com/XSAM/otelsql"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite" // the driver

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/stray"
	"github.com/perfline/perfline/observer"
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

// A query without the context of a request counts as a stray of the program's function, not of otelsql's or of database/sql's.
func TestStraysOfSQL(t *testing.T) {
	for _, c := range []struct {
		name     string
		provider func(*requests.Recent) provider
	}{
		{"perfline", func(r *requests.Recent) provider {
			return bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{}), Recorders: []bridge.Output{r}})
		}},
		{"SDK", func(r *requests.Recent) provider { return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			recent := requests.NewRecent(requests.Config{})
			tp := c.provider(recent)
			db := database(t, tp)
			ctx, span := tp.Tracer("program").Start(t.Context(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
			createOrders(ctx, t, db)
			span.End()
			if got := recent.Strays(); len(got) != 0 {
				t.Errorf("in a request: %+v", got)
			}
			createOrders(t.Context(), t, db)
			want := []stray.Place{{Function: "github.com/perfline/perfline/integration/contrib_test.createOrders", What: stray.Query, Count: 1}}
			if got := recent.Strays(); !slices.Equal(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if err := errors.Join(db.Close(), tp.Shutdown(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

func createOrders(ctx context.Context, t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"); err != nil {
		t.Error(err)
	}
}
