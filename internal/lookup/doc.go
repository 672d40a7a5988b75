// Package lookup finds requests for clients of the live page and of the tools for agents. [Cache]
// stores the requests that clients read most recently. [Waits] reads the waits recorder. [Usual]
// chooses a typical request for a comparison. [Samples] yields samples of a session. [InstanceOf]
// names the process that answers.
package lookup
