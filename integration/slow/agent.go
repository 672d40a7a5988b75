package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slowRoute is the route that the agent is asked about.
const slowRoute = "GET /orders/{id}"

// An agent is a client of the tools that follows their suggestions. It understands no text: it knows the name of the slow route, and takes
// identifiers and calls from the answers.
type agent struct {
	session *mcp.ClientSession
	client  *http.Client
	log     io.Writer // gets each call and each answer; may be nil
	calls   int
}

// startAgent connects an agent to the tools at a URL.
func startAgent(ctx context.Context, url string) (*agent, error) {
	client := &http.Client{Transport: &http.Transport{}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "scripted"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, err
	}
	return &agent{session: session, client: client}, nil
}

func (a *agent) close() error {
	err := a.session.Close()
	a.client.CloseIdleConnections()
	return err
}

// diagnose returns the sentence on why the newest request of the slow route took its time, without the quotes around names.
func (a *agent) diagnose(ctx context.Context) (sentence string, err error) {
	text, err := a.call(ctx, step{tool: "list_routes"})
	if err != nil {
		return "", err
	}
	route, _, _ := strings.Cut(line(text, "", "‹"+slowRoute+"›"), " ")
	if route == "" {
		return "", fmt.Errorf("no route %s in\n%s", slowRoute, text)
	}
	next, err := suggestion(text, "list_requests")
	if err != nil {
		return "", err
	}
	next.arguments["route"] = route
	if text, err = a.call(ctx, next); err != nil {
		return "", err
	}
	if next, err = suggestion(text, "get_request"); err != nil {
		return "", err
	}
	if text, err = a.call(ctx, next); err != nil {
		return "", err
	}
	cause := strings.TrimPrefix(line(text, "cause: ", ""), "cause: ")
	if cause == "" {
		return "", fmt.Errorf("no cause in\n%s", text)
	}
	return strings.NewReplacer("‹", "", "›", "").Replace(cause), nil
}

// A step is a call.
type step struct {
	tool      string
	arguments map[string]any
}

// call calls a tool, which must succeed.
func (a *agent) call(ctx context.Context, s step) (string, error) {
	a.calls++
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: s.arguments})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.tool, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	if a.log != nil {
		arguments, err := json.Marshal(s.arguments)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(a.log, "> %s %s\n%s\n\n", s.tool, arguments, strings.TrimSpace(text.String()))
	}
	if result.IsError {
		return "", errors.New(s.tool + ": " + text.String())
	}
	return text.String(), nil
}

// line returns the first line with a beginning and an end, or nothing.
func line(text, beginning, end string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, beginning) && strings.HasSuffix(l, end) {
			return l
		}
	}
	return ""
}

// suggestion returns the first call of a tool that an answer suggests.
func suggestion(text, tool string) (s step, err error) {
	rest := line(text, "next: "+tool+" ", "")
	if rest == "" {
		return s, fmt.Errorf("no suggestion of %s in\n%s", tool, text)
	}
	s = step{tool: tool, arguments: map[string]any{}}
	if err := json.NewDecoder(strings.NewReader(strings.TrimPrefix(rest, "next: "+tool))).Decode(&s.arguments); err != nil {
		return s, fmt.Errorf("%s: %w", rest, err)
	}
	return s, nil
}
