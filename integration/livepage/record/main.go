// Command record records what a live page asks the shop for, as the browser's tests need it:
//
//	go run -C integration ./livepage/record
//
// It writes livepage/testdata/shop.json.gz. Record again when the page's JSON has changed: a test
// of internal/repository compares the recording with the types in Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/perfline/perfline/integration/livepage"
)

func main() {
	into := flag.String("into", "livepage/testdata/shop.json.gz", "file to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *into)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, into string) (err error) {
	shop, err := livepage.StartShop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Stop()) }()
	hide, err := thisMachine()
	if err != nil {
		return err
	}
	r := recorder{ctx: ctx, shop: shop, all: livepage.Recording{}, hide: hide}
	if err := r.work(); err != nil {
		return err
	}
	if err := r.visit(); err != nil {
		return err
	}
	if err := r.visitDeaths(); err != nil {
		return err
	}
	fmt.Printf("%d answers of session %d and request %s\n", len(r.all), r.session, r.sampled)
	return r.all.Write(into)
}
