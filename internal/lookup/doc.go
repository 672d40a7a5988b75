// Package lookup finds requests for the clients of the live page and of the tools for agents:
// [Cache] has the requests that a client saw last, and [Waits] have what the flight recorder knows.
package lookup
