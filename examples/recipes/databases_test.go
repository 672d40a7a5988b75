package recipes_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx"
	"github.com/redis/go-redis/v9"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// Queries of a request are its child spans. A query without a request is a trace of its own, and with pgx's pool none. The pool's
// housekeeping makes no spans.
func TestPostgreSQL(t *testing.T) {
	dsn := startPostgreSQL(t)

	t.Run("sql", func(t *testing.T) {
		rec, ctx, end := record(t)
		db, err := recipes.OpenSQL("pgx", dsn, semconv.DBSystemNamePostgreSQL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(context.Background(), "CREATE TABLE items (name TEXT)"); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO items VALUES ($1)", "socks"); err != nil {
			t.Fatal(err)
		}
		marks.Mark(ctx, "inserted")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		var name string
		if err := db.QueryRowContext(ctx, "SELECT name FROM items").Scan(&name); err != nil || name != "socks" {
			t.Errorf("got %q, %v", name, err)
		}
		end()
		rec.Want(`
			GET /items (server)
			  sql.conn.begin_tx db.system.name=postgresql (client)
			  sql.conn.exec db.system.name=postgresql (client)
			  * inserted
			  sql.tx.commit db.system.name=postgresql (client)
			  sql.conn.query db.system.name=postgresql (client)
			sql.conn.exec db.system.name=postgresql (client)
		`, semconv.DBSystemNameKey)
	})

	t.Run("gorm", func(t *testing.T) {
		rec, ctx, end := record(t)
		db, err := recipes.OpenSQL("pgx", dsn, semconv.DBSystemNamePostgreSQL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		g, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		var items []struct{ Name string }
		if err := g.WithContext(ctx).Table("items").Find(&items).Error; err != nil || len(items) != 1 {
			t.Errorf("got %v, %v", items, err)
		}
		end()
		rec.Want(`
			GET /items (server)
			  sql.conn.query (client)
		`)
	})

	t.Run("pgx", func(t *testing.T) {
		rec, ctx, end := record(t)
		pool, err := recipes.OpenPGX(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		var name string
		if err := pool.QueryRow(context.Background(), "SELECT 'none'").Scan(&name); err != nil {
			t.Fatal(err)
		}
		marks.Mark(ctx, "asked")
		if err := pool.QueryRow(ctx, "SELECT name FROM items WHERE name = $1", "socks").Scan(&name); err != nil || name != "socks" {
			t.Errorf("got %q, %v", name, err)
		}
		end()
		rec.Want(`
			GET /items (server)
			  * asked
			  SELECT (client)
		`)
	})
}

// Commands of a request are its child spans.
func TestRedis(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "redis")
	start(t, exec.Command(program(t, "redis-server", ""), "--port", "0", "--unixsocket", socket, "--save", ""))
	wait(t, socket)
	rec, ctx, end := record(t)
	client, err := recipes.OpenRedis(&redis.Options{Network: "unix", Addr: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Set(ctx, "socks", "7", 0).Err(); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "stored")
	if got, err := client.Get(ctx, "socks").Result(); err != nil || got != "7" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "socks")
		return p.Del(ctx, "socks").Err()
	}); err != nil {
		t.Error(err)
	}
	end()
	rec.Want(`
		GET /items (server)
		  set (client)
		  * stored
		  get (client)
		  redis.pipeline incr del (client)
	`)
}
