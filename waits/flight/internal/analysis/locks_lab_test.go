//go:build lab

package analysis_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"
)

var _ = add(map[string]func(*recorder){
	"mutex": func(r *recorder) {
		r.trace(func() {
			var x index
			locked, done := make(chan bool), make(chan bool)
			go func() {
				do("GET /search", func() { x.rebuild(locked) })
				close(done)
			}()
			<-locked
			r.want(do("GET /item", x.lookUp))
			<-done
		})
	},
	"mutex-readers": func(r *recorder) {
		r.trace(func() {
			var mu sync.RWMutex
			mu.RLock()
			go do("GET /read", func() {
				time.Sleep(long)
				mu.RUnlock()
			})
			r.want(do("GET /", func() {
				mu.Lock()
				mu.Unlock() //nolint:staticcheck // the wait is the point
			}))
		})
	},
	"mutex-passed-on": func(r *recorder) {
		r.trace(func() {
			var x index
			locked := make(chan bool)
			var others sync.WaitGroup
			others.Go(func() { do("GET /search", func() { x.rebuild(locked) }) })
			<-locked
			others.Go(func() { do("GET /quick", x.lookUp) })
			time.Sleep(long / 4) // until it waits
			r.want(do("GET /", x.lookUp))
			others.Wait()
		})
	},
	"mutex-unlocked-by-timer": func(r *recorder) {
		r.trace(func() {
			var x index
			r.want(do("GET /", func() {
				x.lockFor(long)
				x.lookUp()
				x.lockFor(long / 4)
				x.add()
			}))
		})
	},
	"pool": pool,
	"pool-canceled": func(r *recorder) {
		db := database(func() {})
		defer db.Close()
		ctx, cancel := context.WithCancel(context.Background())
		taken, err := db.Conn(ctx)
		if err != nil {
			r.Fatalf("%v", err)
		}
		r.trace(func() {
			go do("GET /leaves", func() {
				rest()
				cancel()
			})
			r.want(do("GET /", func() { connect(ctx, db) }))
		})
		_ = taken.Close()
	},
	"pool-opens": poolOpens,
})

//go:noinline
func connect(ctx context.Context, db *sql.DB) {
	if c, err := db.Conn(ctx); err == nil {
		_ = c.Close()
	}
}

type index struct{ mu sync.Mutex }

//go:noinline
func (x *index) rebuild(locked chan<- bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(locked)
	time.Sleep(long)
}

//go:noinline
func (x *index) lookUp() {
	x.mu.Lock()
	x.mu.Unlock() //nolint:staticcheck // the wait is the point
}

// lockFor locks the index, which a timer unlocks.
func (x *index) lockFor(d time.Duration) {
	x.mu.Lock()
	time.AfterFunc(d, x.mu.Unlock)
}

//go:noinline
func (x *index) add() {
	x.mu.Lock()
	x.mu.Unlock() //nolint:staticcheck // the wait is the point
}

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

// database returns a pool of one connection.
func database(opening func()) *sql.DB {
	db := sql.OpenDB(connector{opening})
	db.SetMaxOpenConns(1)
	return db
}

//go:noinline
func query(db *sql.DB, f func()) {
	c, err := db.Conn(context.Background())
	if err != nil {
		return // the pool is closed
	}
	f()
	_ = c.Close()
}

func pool(r *recorder) {
	db := database(func() {})
	defer db.Close()
	r.trace(func() {
		connected, done := make(chan int), make(chan int)
		go do("GET /report", func() {
			query(db, func() {
				close(connected)
				time.Sleep(long)
			})
		})
		<-connected
		go func() {
			do("GET /quick", func() { query(db, func() {}) })
			close(done)
		}()
		time.Sleep(long / 4) // until it waits
		r.want(do("GET /", func() { query(db, func() {}) }))
		<-done
	})
}

func poolOpens(r *recorder) {
	broken := true
	db := database(func() {
		if !broken {
			rest()
		}
	})
	defer db.Close()
	r.trace(func() {
		taken, done := make(chan int), make(chan int)
		go func() {
			defer close(done)
			c, err := db.Conn(context.Background())
			if err != nil {
				return
			}
			close(taken)
			time.Sleep(long / 4) // until the request waits
			broken = false
			// The pool opens another connection for the request.
			_ = c.Raw(func(any) error { return driver.ErrBadConn })
		}()
		<-taken
		r.want(do("GET /", func() { query(db, func() {}) }))
		<-done
	})
}
