// Package lookup finds requests for clients of the live page and of the tools for agents. [Cache]
// keeps the requests that clients saw last, [Waits] reads the waits recorder, [Usual] chooses a
// request to compare with, and [Samples] yields samples of a session.
package lookup
