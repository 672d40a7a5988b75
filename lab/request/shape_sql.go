package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/http"
)

// queries is how many statements a request of the shape runs, each of which is a span.
const queries = 20

func openSQL(i instrumentation) (*workload, error) {
	db := i.database(connector{})
	db.SetMaxIdleConns(64) // of all requests in progress: none waits for a connection to be made
	l := serving(i, func(w http.ResponseWriter, r *http.Request) {
		for n := range queries {
			if _, err := db.ExecContext(r.Context(),
				"UPDATE stock SET count = count - 1 WHERE part = ?", n); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		_, _ = io.WriteString(w, answer)
	})
	l.close = db.Close
	return l, nil
}

// connector is a database that takes every statement and has no rows.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return connection{}, nil }
func (connector) Driver() driver.Driver                        { return connector{} }
func (connector) Open(string) (driver.Conn, error)             { return connection{}, nil }

type connection struct{}

var errNoSuch = errors.New("not of this database")

func (connection) Prepare(string) (driver.Stmt, error) { return nil, errNoSuch }
func (connection) Begin() (driver.Tx, error)           { return nil, errNoSuch }
func (connection) Close() error                        { return nil }

func (connection) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}
