package bridgetest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/marks"
)

// checkout is the code under test.
func checkout(ctx context.Context, sku string) {
	ctx, t := marks.Start(ctx, "checkout", slog.String("sku", sku))
	defer t.End()
	marks.Mark(ctx, "order.accepted")
	if err := pay(ctx); err != nil {
		marks.Mark(ctx, "order.refused", slog.String("reason", err.Error()))
	}
}

func pay(ctx context.Context) error {
	t := marks.Time(ctx, "pay")
	defer t.End()
	err := errors.New("card declined")
	t.Fail(err)
	return err
}

func Example() {
	t := newT() // a *testing.T in a test
	rec := bridgetest.New(t)
	checkout(rec.Context(context.Background()), "socks")
	rec.Want(`
		checkout sku=socks
		  * order.accepted
		  pay (error: card declined)
		    * exception
		  * order.refused reason=card declined
	`, "sku", "reason")
	fmt.Println("failed:", t.Failed())
	// Output: failed: false
}

func ExampleRecorder_Span() {
	rec := bridgetest.New(newT()) // a *testing.T in a test
	checkout(rec.Context(context.Background()), "socks")
	pay := rec.Span("pay")
	fmt.Println(pay.Parent.Name, pay.Parent.Attr("sku").AsString(), pay.Status.Code, pay.Status.Description)
	for _, e := range pay.Parent.Events {
		fmt.Println(e.Name)
	}
	// Output:
	// checkout socks Error card declined
	// order.accepted
	// order.refused
}
