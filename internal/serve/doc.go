// Package serve has what the handlers share that show or change the inside of a program: [Rate]
// limits the starts of recordings, [Servers] ends streams when their server shuts down, and [Data]
// decides what clients may read.
package serve
