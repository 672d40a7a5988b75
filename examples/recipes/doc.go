// Package recipes has the lines of docs/databases.md, docs/jobs.md, docs/kafka.md, docs/logs.md,
// docs/messages.md, docs/redis.md, docs/rpc.md, docs/streams.md and docs/variables.md, tested with
// the real libraries. The package is a module of its own: copy the lines that you need.
package recipes
