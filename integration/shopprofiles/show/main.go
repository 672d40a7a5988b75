// Command show runs the shop against a Jaeger and a Pyroscope that it builds and starts,
// prints what arrived in them, and draws the flame graph of one of the shop's routes as
// Pyroscope has it:
//
//	go run -C integration ./shopprofiles/show -for 60s -svg ../docs/flame.svg
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/flame"
	"github.com/perfline/perfline/integration/shopprofiles"
)

func main() {
	length := flag.Duration("for", time.Minute, "how long the load is, at least 30s")
	rps := flag.Int("rps", 100, "requests a second of the load")
	svg := flag.String("svg", "", "file to draw the flame graph of "+shopprofiles.Route+" into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *length, *rps, *svg)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, length time.Duration, rps int, svg string) (err error) {
	if length < 30*time.Second {
		return fmt.Errorf("-for %v: must be at least 30s", length)
	}
	j, err := backend.StartJaeger(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Stop()) }()
	p, err := backend.StartPyroscope(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	shop, err := shopprofiles.BuildShop(ctx, dir)
	if err != nil {
		return err
	}
	r, err := shopprofiles.Run(ctx, shopprofiles.Options{Jaeger: j, Pyroscope: p, Shop: shop, Length: length, RPS: rps, Asked: 5 * time.Second})
	if err != nil {
		return err
	}
	r.Write(os.Stdout)
	if svg == "" {
		return nil
	}
	var picture bytes.Buffer
	if err := flame.Draw(&picture, shopprofiles.Route, r.OfRoute); err != nil {
		return err
	}
	return os.WriteFile(svg, picture.Bytes(), 0o644)
}
