// Package serve contains the common parts of perfline's diagnostic handlers. [Rate] limits how
// often clients start recordings. [Servers] ends streams when the server shuts down. [Data] selects
// the data that clients may read.
package serve
