package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/XSAM/otelsql"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/perfline/perfline/marks"
)

var (
	errNotFound   = errors.New("not found")
	errOutOfStock = errors.New("out of stock")
)

type product struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
	Price int64  `json:"price"` // cents
	Stock int64  `json:"stock"`
}

type order struct {
	ID       int64  `json:"id"`
	Product  int64  `json:"product"`
	Quantity int64  `json:"quantity"`
	Total    int64  `json:"total"` // cents
	Payment  string `json:"payment"`
}

// A store keeps the catalogue and the newest 100 000 orders in SQLite, and names and prices of
// products it has looked up in memory. Its queries are spans that otelsql makes; in
// the store itself there is nothing to be done for them.
type store struct {
	db  *sql.DB
	dir string

	mu    sync.Mutex // guards cache
	cache map[int64]product
}

const schema = `
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, about TEXT NOT NULL,
	price INTEGER NOT NULL, stock INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, product INTEGER NOT NULL, quantity INTEGER NOT NULL,
	total INTEGER NOT NULL, payment TEXT NOT NULL);
CREATE TRIGGER newest AFTER INSERT ON orders
BEGIN DELETE FROM orders WHERE id = NEW.id - 100000; END;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 200)
INSERT INTO products SELECT i, 'Product ' || i,
	'number ' || i || ' of our catalogue, in ' || (i % 7) || ' colours, with a warranty of ' ||
	(i % 5 + 1) || ' years', 100 + i*7, 1000000 FROM n;`

// openStore makes a database in a temporary folder, which Close removes.
func openStore(ctx context.Context) (*store, error) {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return nil, err
	}
	dsn := "file:" + filepath.Join(dir, "shop.db") +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := otelsql.Open("sqlite", dsn,
		otelsql.WithAttributes(semconv.DBSystemNameSQLite),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			DisableErrSkip: true, OmitConnResetSession: true, OmitConnPrepare: true,
			OmitConnectorConnect: true, OmitRows: true,
		}))
	if err != nil {
		return nil, err
	}
	s := &store{db: db, dir: dir, cache: map[int64]product{}}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("creating the catalogue: %w", err), s.Close())
	}
	return s, nil
}

func (s *store) Close() error {
	return errors.Join(s.db.Close(), os.RemoveAll(s.dir))
}

// health answers 200 while the database does.
func (s *store) health(w http.ResponseWriter, r *http.Request) {
	if err := s.db.PingContext(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (s *store) list(ctx context.Context, page int64) ([]product, error) {
	rows, err := s.db.QueryContext(ctx,
		"SELECT id, name, about, price, stock FROM products ORDER BY id LIMIT 20 OFFSET ?", page*20)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []product
	for rows.Next() {
		var p product
		if err := rows.Scan(&p.ID, &p.Name, &p.About, &p.Price, &p.Stock); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// product is a product as last seen: its stock may be out of date.
func (s *store) product(ctx context.Context, id int64) (product, error) {
	s.mu.Lock()
	p, ok := s.cache[id]
	s.mu.Unlock()
	if ok {
		marks.Mark(ctx, "cache.hit", slog.Int64("product", id))
		return p, nil
	}
	marks.Mark(ctx, "cache.miss", slog.Int64("product", id))
	err := s.db.QueryRowContext(ctx, "SELECT id, name, price, stock FROM products WHERE id = ?",
		id).
		Scan(&p.ID, &p.Name, &p.Price, &p.Stock)
	if errors.Is(err, sql.ErrNoRows) {
		return product{}, fmt.Errorf("product %d: %w", id, errNotFound)
	}
	if err != nil {
		return product{}, err
	}
	s.mu.Lock()
	if len(s.cache) >= 100 { // half of the catalogue, so that misses go on
		clear(s.cache)
	}
	s.cache[id] = p
	s.mu.Unlock()
	return p, nil
}

// reserve takes quantity pieces of a product out of stock.
func (s *store) reserve(ctx context.Context, id, quantity int64) error {
	res, err := s.db.ExecContext(ctx,
		"UPDATE products SET stock = stock - ? WHERE id = ? AND stock >= ?", quantity, id, quantity)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("product %d: %w", id, errOutOfStock))
	}
	return nil
}

func (s *store) addOrder(ctx context.Context, o order) (order, error) {
	res, err := s.db.ExecContext(ctx,
		"INSERT INTO orders (product, quantity, total, payment) VALUES (?, ?, ?, ?)",
		o.Product, o.Quantity, o.Total, o.Payment)
	if err != nil {
		return order{}, err
	}
	o.ID, err = res.LastInsertId()
	return o, err
}
