package recipes_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	_ "modernc.org/sqlite"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// Queries of a request are its child spans. The pool's housekeeping and queries without a request make none.
func TestSQL(t *testing.T) {
	rec, ctx, end := record(t)
	db, err := recipes.OpenDB("sqlite", filepath.Join(t.TempDir(), "items.db"))
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
	if _, err := tx.ExecContext(ctx, "INSERT INTO items VALUES ('socks')"); err != nil {
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
		GET /items
		  sql.conn.begin_tx
		  sql.conn.exec
		  * inserted
		  sql.tx.commit
		  sql.conn.query
	`)
}

// gorm takes the *sql.DB, and passes the context of WithContext on.
func TestGorm(t *testing.T) {
	rec, ctx, end := record(t)
	db, err := recipes.OpenDB("sqlite", filepath.Join(t.TempDir(), "items.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g, err := gorm.Open(sqlite.Dialector{Conn: db}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	type item struct{ Name string }
	if err := g.AutoMigrate(&item{}); err != nil {
		t.Fatal(err)
	}
	var items []item
	if err := g.WithContext(ctx).Find(&items).Error; err != nil {
		t.Fatal(err)
	}
	end()
	rec.Want(`
		GET /items
		  sql.conn.query
	`)
}
