package livepage

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"syscall"

	"github.com/perfline/perfline/integration/backend"
)

const (
	callers = 8  // of calls under way when the shop dies
	warmUp  = 40 // calls of each before that
)

// StartSuccessor starts a shop with the report about an earlier process of the shop. A signal ended
// the earlier process under load, and the report has a stack of each goroutine.
func StartSuccessor(ctx context.Context) (_ *Shop, err error) {
	dir, err := os.MkdirTemp("", "boxes")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }() // the successor has it open
	env := "PERFLINE_BLACKBOX_DIR=" + dir
	first, err := StartShop(ctx, env)
	if err != nil {
		return nil, err
	}
	if err := first.die(ctx); err != nil {
		return nil, err
	}
	s, err := StartShop(ctx, env)
	if err != nil {
		return nil, err
	}
	if err := s.reported(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// die ends the shop while it serves calls.
func (s *Shop) die(ctx context.Context) error {
	var all, warm sync.WaitGroup
	for caller := range callers {
		warm.Add(1)
		isWarm := sync.OnceFunc(warm.Done)
		all.Go(func() {
			defer isWarm()
			for i := 0; s.Send(ctx, Everything(caller+i)) == nil; i++ { // until it is dead
				if i == warmUp {
					isWarm()
				}
			}
		})
	}
	warm.Wait()
	err := s.cmd.Process.Signal(syscall.SIGABRT)
	_ = s.cmd.Wait() // says that the signal ended it
	all.Wait()
	return errors.Join(err, os.RemoveAll(s.dir))
}

// reported waits until the page has the report.
func (s *Shop) reported(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return backend.Poll(ctx, func() (bool, error) {
		url := s.Page + "data/v1/deaths"
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		var d struct{ Reports []any }
		err = json.NewDecoder(resp.Body).Decode(&d)
		return len(d.Reports) > 0, err
	})
}
