package recipes_test

import (
	"path/filepath"
	"testing"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

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
