// Package otlpwire appends what the messages of all OTLP signals share to bytes: texts, attributes,
// resources and scopes. It reads the fields of any message, too. Packages otlpenc (spans) and
// otlpmetrics use it, and package otlp reads answers with it.
//
// Texts that are not UTF-8 are repaired, lengths have the fewest bytes, and nothing is allocated if
// the buffer has room.
package otlpwire
