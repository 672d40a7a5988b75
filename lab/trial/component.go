package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// Two kinds of failures are not a proxy's.
const (
	killed   backend.Kind = "killed"
	diskFull backend.Kind = "disk full"
)

// slow is a second for each answer, and less than a batch of spans takes in that time.
var slow = backend.Mode{Kind: backend.Slow, Delay: time.Second, BytesPerSecond: 50_000}

// diskSize is the disk that gets full. It has room for what arrives while all is well.
const diskSize = 256 << 20

// errNotMade is of a failure that this machine does not allow.
var errNotMade = errors.New("not made")

// A process is a backend that can be killed and started again.
type process interface {
	Start(ctx context.Context) error
	Kill() error
	Stop() error
	IsUp() bool
	Dir() string
	Log() string
}

// A component is a backend behind a proxy. It fails as a schedule says.
type component struct {
	name    string
	process process
	proxy   *backend.Proxy
	next    *backend.Proxy // before the backend that it passes spans on to; nil if there is none

	flows   []*flow // what it takes
	forgets bool    // its counts begin with its process

	smallDisk bool // its folder is a disk of its own
}

func (c *component) stop() error {
	var err error
	if c.smallDisk { // the process has files open there
		err = errors.Join(c.process.Kill(), unmount(c.process.Dir()))
	}
	return errors.Join(err, c.process.Stop())
}

// fail makes the component fail in one way until heal.
func (c *component) fail(ctx context.Context, kind backend.Kind) error {
	switch kind {
	case killed:
		return c.kill(ctx)
	case diskFull:
		// A Collector passes spans on at once and needs no disk, unless it has nowhere to pass them
		// on to.
		if c.next != nil {
			if err := c.next.Set(backend.Mode{Kind: backend.Refuse}); err != nil {
				return err
			}
		}
		return fill(c.process.Dir())
	case backend.Slow:
		return c.proxy.Set(slow)
	default:
		return c.proxy.Set(backend.Mode{Kind: kind})
	}
}

// heal makes the component work again after fail. The note is for the report.
func (c *component) heal(ctx context.Context, kind backend.Kind) (note string, err error) {
	switch kind {
	case killed:
		if err := c.process.Start(ctx); err != nil {
			return "", fmt.Errorf("%s after it was killed: %w", c.name, err)
		}
	case diskFull:
		return c.makeRoom()
	case backend.Lie:
		note = "it said 200 to all"
	default:
	}
	return note, c.proxy.Set(backend.Mode{Kind: backend.Pass})
}

// kill kills the process as a crash would. Its counts are added up, where it forgets. The
// connections are cut before that, so that nothing arrives after the count.
func (c *component) kill(ctx context.Context) error {
	if c.forgets {
		if err := c.proxy.Set(backend.Mode{Kind: backend.Refuse}); err != nil {
			return err
		}
		for _, f := range c.flows {
			n, err := f.settledCount(ctx)
			if err != nil {
				return fmt.Errorf("before %s was killed: %w", c.name, err)
			}
			f.before += n
		}
	}
	return c.process.Kill()
}

// useSmallDisk starts the process again with its folder on a disk of its own.
func (c *component) useSmallDisk(ctx context.Context) error {
	if err := c.process.Kill(); err != nil {
		return err
	}
	if err := mount(c.process.Dir(), diskSize); err != nil {
		return fmt.Errorf("%w: %w", errNotMade, err)
	}
	c.smallDisk = true
	return c.process.Start(ctx)
}

// makeRoom empties the disk. [component.startAgain] is for a process that ends because it was full.
func (c *component) makeRoom() (note string, err error) {
	note = "its disk was full"
	if c.next != nil {
		note += " and its Jaeger away"
		if err := c.next.Set(backend.Mode{Kind: backend.Pass}); err != nil {
			return "", err
		}
	}
	return note, empty(c.process.Dir())
}

// startAgain starts the process if it has ended, and reports whether it had.
func (c *component) startAgain(ctx context.Context) (bool, error) {
	if c.process.IsUp() {
		return false, nil
	}
	return true, c.process.Start(ctx)
}
