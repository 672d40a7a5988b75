package recipes_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// gorm's queries with the context of a request are its child spans. A query without the context is a trace of its own: the page has
// it in the background, as it has gorm's question for the version.
func TestGorm(t *testing.T) {
	rec, ctx, end := record(t)
	g, err := recipes.OpenGorm("file:" + filepath.Join(t.TempDir(), "shop.db") + "?_time_format=sqlite&_pragma=busy_timeout(5000)") // as the guide has it
	if err != nil {
		t.Fatal(err)
	}
	db, err := g.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type item struct {
		Name string
		Sold time.Time
	}
	if err := g.WithContext(ctx).AutoMigrate(&item{}); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "migrated")
	sold := item{"socks", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	if err := g.WithContext(ctx).Create(&sold).Error; err != nil {
		t.Fatal(err)
	}
	var items []item
	if err := g.WithContext(ctx).Find(&items).Error; err != nil || len(items) != 1 || items[0].Name != sold.Name || !items[0].Sold.Equal(sold.Sold) {
		t.Errorf("got %v, %v", items, err)
	}
	end()
	if err := g.Find(&items).Error; err != nil {
		t.Error(err)
	}
	rec.Want(`
		GET /items (server)
		  sql.conn.query db.system.name=sqlite (client)
		  sql.conn.exec db.system.name=sqlite (client)
		  * migrated
		  sql.conn.begin_tx db.system.name=sqlite (client)
		  sql.conn.exec db.system.name=sqlite (client)
		  sql.tx.commit db.system.name=sqlite (client)
		  sql.conn.query db.system.name=sqlite (client)
		sql.conn.query db.system.name=sqlite (client)
		sql.conn.query db.system.name=sqlite (client)
	`, semconv.DBSystemNameKey)
}

// A write with context.WithoutCancel is a span of its request, and goes on when the client has left. A query with the request's context is
// cancelled.
func TestWriteOfALeftRequest(t *testing.T) {
	rec, ctx, end := record(t)
	db, err := recipes.OpenSQL("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db"), semconv.DBSystemNameSQLite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	request, leave := context.WithCancel(ctx)
	if _, err := db.ExecContext(request, "CREATE TABLE items (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := db.ExecContext(request, "INSERT INTO items VALUES ('shoes')"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v with the context of the request, want its end", err)
	}
	if _, err := db.ExecContext(context.WithoutCancel(request), "INSERT INTO items VALUES ('socks')"); err != nil {
		t.Error(err)
	}
	end()
	rec.Want(`
		GET /items (server)
		  sql.conn.exec (client)
		  sql.conn.exec (client)
	`)
}

// gorm's own dialect takes a connection with spans as well.
func TestGormOverSQLite3(t *testing.T) {
	rec, ctx, end := record(t)
	db, err := recipes.OpenSQL("sqlite3", filepath.Join(t.TempDir(), "shop.db"), semconv.DBSystemNameSQLite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shop := &store{DB: g}
	if err := recipes.Unit(context.WithoutCancel(ctx), "shop.migrate", func(ctx context.Context) error {
		return shop.In(ctx).Migrate()
	}); err != nil {
		t.Fatal(err)
	}
	if items, err := shop.In(ctx).Items(); err != nil || len(items) != 0 {
		t.Errorf("got %v, %v", items, err)
	}
	end()
	rec.Want(`
		GET /items (server)
		  sql.conn.query db.system.name=sqlite (client)
		sql.conn.query db.system.name=sqlite (client)
		shop.migrate
		  sql.conn.query db.system.name=sqlite (client)
		  sql.conn.exec db.system.name=sqlite (client)
	`, semconv.DBSystemNameKey)
}

type item struct{ Name string }

// A store has methods without contexts, as the guide has it.
type store struct{ DB *gorm.DB }

func (s *store) In(ctx context.Context) *store { return &store{DB: s.DB.WithContext(ctx)} }

func (s *store) Migrate() error { return s.DB.AutoMigrate(&item{}) }

func (s *store) Items() (items []item, err error) { return items, s.DB.Find(&items).Error }
