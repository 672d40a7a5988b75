// Package otlpwire encodes the parts that all OTLP signals share: texts, attributes, resources and
// scopes. It also reads the fields of any message. Packages otlpenc (spans, log records),
// otlpmetrics and otlp (answers) import it.
//
// The encoder repairs invalid UTF-8, and writes lengths with the fewest bytes. It allocates nothing
// if the buffer has room.
package otlpwire
