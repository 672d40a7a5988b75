// Package lookup finds requests for the clients of the live page and of the tools for agents:
// [Cache] has the requests that a client saw last, [Waits] have what the waits recorder knows,
// [Usual] chooses a request to compare with, and [Samples] are what a session has of requests.
package lookup
