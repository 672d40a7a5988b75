// Package otlpwire encodes the parts that all OTLP signals share: texts, attributes, resources and
// scopes. otlpwire also reads the fields of any message. Packages otlpenc (spans, log records),
// otlpmetrics and otlp (answers) import otlpwire.
//
// The encoder repairs invalid UTF-8, and writes lengths with the fewest bytes. The encoder
// allocates nothing if the buffer has room.
package otlpwire
