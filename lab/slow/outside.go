package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// outside is a connection to the command. A part of a request asks there for another request, which
// takes what the part will need. It has a cost: the request waits about a millisecond for the
// network.
type outside struct {
	mu      sync.Mutex // guards what follows; one slow request is under way at a time
	conn    net.Conn
	answers *bufio.Reader
	total   time.Duration // of all calls of prepare
}

func dialOutside(ctx context.Context, address string) (*outside, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &outside{conn: conn, answers: bufio.NewReader(conn)}, nil
}

// prepare returns when the other request has what it asked for.
func (o *outside) prepare(ctx context.Context, path, way string, takes time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func(began time.Time) { o.total += time.Since(began) }(time.Now())
	if deadline, ok := ctx.Deadline(); ok {
		_ = o.conn.SetDeadline(deadline) // a connection over TCP has deadlines
	}
	if _, err := fmt.Fprintf(o.conn, "/%s?part=%s,%s,%s\n", path, path, way, takes); err != nil {
		return err
	}
	answer, err := o.answers.ReadString('\n')
	if err == nil && answer != ready {
		err = fmt.Errorf("preparing %s: %s", path, answer)
	}
	return err
}

// spent returns how long requests have waited in prepare.
func (o *outside) spent() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// ready is the answer when all is prepared.
const ready = "ready\n"

// lines answers each line of a connection.
func lines(conn io.ReadWriter, answer func(line string) string) {
	in := bufio.NewScanner(conn)
	for in.Scan() {
		if _, err := io.WriteString(conn, answer(in.Text())); err != nil {
			return // the service is gone
		}
	}
}
