package analysis_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/states"
)

// A connector makes connections that do nothing.
type connector struct{ opening func() }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	c.opening()
	return connection{}, nil
}
func (connector) Driver() driver.Driver { return nil }

type connection struct{}

func (connection) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (connection) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (connection) Close() error                        { return nil }

//go:noinline
func query(t *testing.T, db *sql.DB, f func()) {
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	f()
	c.Close()
}

// Several requests have a connection in turn. The one that has it for long is named.
func TestPool(t *testing.T) {
	db := sql.OpenDB(connector{func() {}})
	db.SetMaxOpenConns(1)
	defer db.Close()
	var r *request
	got := read(t, record(t, func() {
		connected, done := make(chan int), make(chan int)
		go do("GET /report", func() {
			query(t, db, func() {
				close(connected)
				blockedTimes("sql.(*DB).conn(", 2)
				time.Sleep(long)
			})
		})
		<-connected
		go func() {
			do("GET /quick", func() { query(t, db, func() {}) })
			close(done)
		}()
		blockedIn("sql.(*DB).conn(")
		r = do("GET /", func() { query(t, db, func() {}) })
		<-done
	}), r)
	c := largest(t, got, states.Pool)
	in(t, c.Function, "analysis_test.query")
	if c.By == nil || c.By.Request != "GET /report" {
		t.Fatalf("by %+v, want GET /report", c.By)
	}
	in(t, c.By.Function, "analysis_test.query")
}

// A request that waits for a new connection of the pool waits for what opens it.
func TestPoolOpensConnection(t *testing.T) {
	broken := true
	db := sql.OpenDB(connector{func() {
		if !broken {
			rest()
		}
	}})
	db.SetMaxOpenConns(1)
	defer db.Close()
	var r *request
	got := read(t, record(t, func() {
		taken, done := make(chan int), make(chan int)
		go func() {
			defer close(done)
			c, err := db.Conn(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			close(taken)
			blockedIn("sql.(*DB).conn(")
			broken = false
			// The pool opens another connection for this one.
			_ = c.Raw(func(any) error { return driver.ErrBadConn })
		}()
		<-taken
		r = do("GET /", func() { query(t, db, func() {}) })
		<-done
	}), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
}
