package perfline

import "context"

// beside calls do with x on a goroutine of its own, unless there is no x. So the deliveries of several signals do not wait for each
// other's backend. The result has the error of do.
func beside[T comparable](ctx context.Context, x T, do func(T, context.Context) error) <-chan error {
	done := make(chan error, 1)
	var none T
	if x == none {
		done <- nil
		return done
	}
	go func() { done <- do(x, ctx) }()
	return done
}
