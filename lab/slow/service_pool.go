package main

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
)

// reports are read from a database, over a pool that has one connection.
type reports struct{ db *sql.DB }

func newReports(address string) *reports {
	db := sql.OpenDB(connector(address))
	db.SetMaxOpenConns(1)
	return &reports{db}
}

// stock needs a connection, which another request has.
func (s *shop) stock(ctx context.Context, takes time.Duration) error {
	ctx, span := otel.Tracer("shop").Start(ctx, "stock.read")
	defer span.End()
	if err := s.outside.prepare(ctx, "report", "", takes); err != nil {
		return err
	}
	return s.reports.query(ctx)
}

//go:noinline
func (p *reports) query(ctx context.Context) error {
	var answer string
	return p.db.QueryRowContext(ctx, "0s").Scan(&answer)
}

// report is the other request. Its client learns from the first bytes of the answer that it has the
// connection.
func (s *shop) report(w http.ResponseWriter, r *http.Request) {
	_, _, takes, err := parsePart(r.FormValue("part"))
	if err == nil {
		err = s.reports.monthly(r.Context(), takes,
			func() error { return http.NewResponseController(w).Flush() })
	}
	if err != nil {
		panic(fmt.Errorf("report: %w", err)) // the answer has begun
	}
}

// monthly has the connection while the database works.
//
//go:noinline
func (p *reports) monthly(ctx context.Context, takes time.Duration,
	announce func() error) (err error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := announce(); err != nil {
		return err
	}
	var answer string
	return conn.QueryRowContext(ctx, takes.String()).Scan(&answer)
}

// A connector connects to the database at an address. A query is a line with the time that it
// takes, and its answer is a line.
type connector string

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", string(c))
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, answers: bufio.NewReader(conn)}, nil
}

func (c connector) Driver() driver.Driver { return c }

func (c connector) Open(string) (driver.Conn, error) { return nil, errors.New("open a connector") }

type connection struct {
	conn    net.Conn
	answers *bufio.Reader
}

var _ driver.QueryerContext = (*connection)(nil)

func (c *connection) QueryContext(_ context.Context, query string,
	_ []driver.NamedValue) (driver.Rows, error) {
	if _, err := io.WriteString(c.conn, query+"\n"); err != nil {
		return nil, err
	}
	answer, err := c.answers.ReadString('\n')
	if err != nil {
		return nil, err
	}
	return &rows{answer: answer}, nil
}

func (c *connection) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (c *connection) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }
func (c *connection) Close() error                        { return c.conn.Close() }

// rows are one.
type rows struct {
	answer string
	read   bool
}

func (*rows) Columns() []string { return []string{"answer"} }
func (*rows) Close() error      { return nil }

func (r *rows) Next(to []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, to[0] = true, r.answer
	return nil
}
