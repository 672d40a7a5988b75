// Command transcript diagnoses the shop by the tools of package mcpserver, and writes down each
// call and its answer:
//
//	go run -C lab ./transcript -into ../docs/lab/agent-transcript.md -report ../docs/blackbox.md
//
// A second transcript is about a service that has crashed: see package till. The agent has no
// language model: package scripted follows the suggestions in the answers. With -short the cause
// may be unknown, and a profile takes a second.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/livepage"
	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/lab/scripted"
)

// Where a document has the transcripts.
const marker, crashMarker, reportMarker = "transcript", "crash", "report"

func main() {
	into := flag.String("into", "", "document to write the transcript into, between its markers")
	report := flag.String("report", "",
		"document to write the report of the crash into, between its markers")
	figuresInto := flag.String("figures", "",
		"also add the result to this `file` of figures, for the laboratory's table")
	short := flag.Bool("short", false,
		"take a cause that is unknown, too, and record a profile for a second only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *into, *report, *short, os.Stdout)
	stop()
	met := err == nil
	err = errors.Join(err,
		figures.Add(*figuresInto, "a scripted agent finds the cause of a slow request of the shop",
			"true", fmt.Sprint(met), &met))
	if err != nil {
		fmt.Fprintln(os.Stderr, "transcript:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, into, reportInto string, short bool, out io.Writer) (err error) {
	if short && into != "" {
		return fmt.Errorf("-short with -into %s: a document has the whole transcript", into)
	}
	if into != "" {
		if err := document.Check(into, marker, crashMarker); err != nil {
			return err
		}
	}
	if reportInto != "" {
		if err := document.Check(reportInto, reportMarker); err != nil {
			return err
		}
	}
	crashed, report, err := afterCrash(ctx)
	if err != nil {
		return err
	}
	if reportInto != "" {
		err := document.Write(reportInto, document.Part{Name: reportMarker, Text: report})
		if err != nil {
			return err
		}
	}
	shop, err := livepage.StartShop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Stop()) }()
	a, err := scripted.Start(ctx, shop.Page+"mcp")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	stop := shop.Load(ctx, livepage.Everything)
	defer func() { err = errors.Join(err, stop()) }()
	var text bytes.Buffer
	if err := diagnose(ctx, a, short, &text); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text.String()+"\n"+crashed.String()); err != nil {
		return err
	}
	if into != "" {
		return document.Write(into, document.Part{Name: marker, Text: text.String()},
			document.Part{Name: crashMarker, Text: crashed.String()})
	}
	return nil
}

const (
	slowRoute = "POST /orders"
	least     = 15 // milliseconds of a slow request
	patience  = time.Minute
)

// find finds the cause of a slow request, and returns it with the last answer. The text has the
// calls of the attempt that succeeds: a request may be too young, or too soon after a snapshot. On
// a busy machine many are: a short run takes any cause.
func find(ctx context.Context, a *scripted.Agent, short bool, text *bytes.Buffer) (cause,
	answer string, err error) {
	if _, err := a.Call(ctx,
		scripted.Step{Tool: "arm_waits", Arguments: map[string]any{"seconds": 300}}); err != nil {
		return "", "", err
	}
	a.Log = func(call scripted.Step, answer string) { write(text, call, answer) }
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = backend.Poll(ctx, func() (bool, error) {
		text.Reset()
		var err error
		cause, answer, err = a.Diagnose(ctx, slowRoute, map[string]any{"min_ms": least})
		return err == nil && (short || !strings.HasPrefix(cause, "unknown")), nil
	})
	return cause, answer, err
}

// diagnose follows the suggestions from the routes to the cause, to a usual request and to a span.
// Then it asks for the code of another route, for the runtime and for perfline's own losses.
func diagnose(ctx context.Context, a *scripted.Agent, short bool, text *bytes.Buffer) error {
	seconds := 20 // of the profile
	if short {
		seconds = 1
	}
	cause, answer, err := find(ctx, a, short, text)
	if err != nil {
		return err
	}
	if answer, err = a.Follow(ctx, answer, "compare_requests"); err != nil {
		return err
	}
	if _, err = a.Follow(ctx, answer, "get_span"); err != nil {
		return err
	}
	if _, err = a.Call(ctx,
		scripted.Step{Tool: "profile_route",
			Arguments: map[string]any{"route": "GET /search", "seconds": seconds,
				"limit": 8}}); err != nil {
		return err
	}
	for _, tool := range []string{"get_runtime", "get_counts"} {
		if _, err = a.Call(ctx, scripted.Step{Tool: tool}); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(text, "The cause, as the agent reports it: `%s`.\n", cause)
	return err
}

const mostLines = 32 // of an answer

// write writes a call and its answer as Markdown.
func write(w io.Writer, call scripted.Step, answer string) {
	arguments, err := json.Marshal(call.Arguments)
	if err != nil || call.Arguments == nil {
		arguments = []byte("{}")
	}
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	if n := len(lines) - mostLines; n > 1 { // the suggestions at the end stay
		end := lines[len(lines)-4:]
		lines = append(append(lines[:mostLines-5:mostLines-5],
			fmt.Sprintf("(%d more lines are not printed here)", n+1)), end...)
	}
	fmt.Fprintf(w, "**%s** `%s`\n\n```text\n%s\n```\n\n", call.Tool, arguments,
		strings.Join(lines, "\n"))
}
