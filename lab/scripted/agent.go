// Package scripted is an agent without a language model: a client of the tools of package mcpserver
// that follows their suggestions.
package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Agent understands no text: it knows the name of the slow route, and takes identifiers and
// calls from the answers.
type Agent struct {
	Log func(call Step, answer string) // gets each call; nil means nothing does

	session *mcp.ClientSession
	client  *http.Client
}

// Start connects an agent to the tools at a URL.
func Start(ctx context.Context, url string) (*Agent, error) {
	client := &http.Client{Transport: &http.Transport{}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "scripted"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{
			Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, err
	}
	return &Agent{session: session, client: client}, nil
}

// Close ends the connection.
func (a *Agent) Close() error {
	err := a.session.Close()
	a.client.CloseIdleConnections()
	return err
}

// Diagnose asks for the routes, for requests of the one with that name, and for the first of these.
// It returns the cause of its duration as the tools tell it, without the quotes around names, and
// the last answer. Arguments, which may be nil, are added to the call for requests.
func (a *Agent) Diagnose(ctx context.Context, name string, arguments map[string]any) (cause,
	text string, err error) {
	if text, err = a.Call(ctx, Step{Tool: "list_routes"}); err != nil {
		return "", text, err
	}
	route := ""
	for l := range strings.Lines(text) { // "ID …figures… ‹name›; slow from …"
		if figures, _, ok := strings.Cut(l, "‹"+name+"›"); ok && route == "" {
			route, _, _ = strings.Cut(figures, " ")
		}
	}
	if route == "" {
		return "", text, fmt.Errorf("no route %s in\n%s", name, text)
	}
	next, err := Suggestion(text, "list_requests")
	if err != nil {
		return "", text, err
	}
	maps.Copy(next.Arguments, arguments)
	next.Arguments["route"] = route
	if text, err = a.Call(ctx, next); err != nil {
		return "", text, err
	}
	if text, err = a.Follow(ctx, text, "get_request"); err != nil {
		return "", text, err
	}
	cause = strings.TrimPrefix(line(text, "cause: ", ""), "cause: ")
	if cause == "" {
		return "", text, fmt.Errorf("no cause in\n%s", text)
	}
	return strings.NewReplacer("‹", "", "›", "").Replace(cause), text, nil
}

// Follow makes the first call of a tool that an answer suggests.
func (a *Agent) Follow(ctx context.Context, answer, tool string) (string, error) {
	next, err := Suggestion(answer, tool)
	if err != nil {
		return "", err
	}
	return a.Call(ctx, next)
}

// A Step is a call.
type Step struct {
	Tool      string
	Arguments map[string]any
}

// Call calls a tool, which must succeed.
func (a *Agent) Call(ctx context.Context, s Step) (string, error) {
	result, err := a.session.CallTool(ctx,
		&mcp.CallToolParams{Name: s.Tool, Arguments: s.Arguments})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Tool, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	if a.Log != nil {
		a.Log(s, text.String())
	}
	if result.IsError {
		return "", errors.New(s.Tool + ": " + text.String())
	}
	return text.String(), nil
}

// line returns the first line with a beginning and an end, or nothing.
func line(text, beginning, end string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, beginning) &&
			strings.HasSuffix(l, end) {
			return l
		}
	}
	return ""
}

// Suggestion returns the first call of a tool that an answer suggests.
func Suggestion(text, tool string) (s Step, err error) {
	rest := line(text, "next: "+tool+" ", "")
	if rest == "" {
		return s, fmt.Errorf("no suggestion of %s in\n%s", tool, text)
	}
	s = Step{Tool: tool, Arguments: map[string]any{}}
	if err := json.NewDecoder(strings.NewReader(strings.TrimPrefix(rest, "next: "+tool))).Decode(
		&s.Arguments); err != nil {
		return s, fmt.Errorf("%s: %w", rest, err)
	}
	return s, nil
}
