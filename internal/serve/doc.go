// Package serve holds the parts that perfline's diagnostic handlers share: [Rate] limits how often
// clients start recordings, [Servers] ends streams when their server shuts down, and [Data]
// selects the data that clients may read.
package serve
