package integration

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"sync"

	"github.com/perfline/perfline/integration/backend"
)

// An output keeps what a program prints.
type output struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits until the program has printed something.
func (o *output) await(ctx context.Context, wanted *regexp.Regexp) error {
	if err := backend.Poll(ctx, func() (bool, error) { return wanted.MatchString(o.String()), nil }); err != nil {
		return fmt.Errorf("the program does not print %v: %w\n%s", wanted, err, o)
	}
	return nil
}
