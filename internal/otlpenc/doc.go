// Package otlpenc encodes OpenTelemetry spans and log records as OTLP bytes, and decodes spans.
//
//	var groups otlpenc.Groups // one for all spans
//	…
//	groups.Encode(span, func(encoded []otlpenc.Spans) {
//		body := otlpenc.AppendRequest(nil, encoded)
//		…
//	})
//
// Each span is encoded once, at its end or soon after. A [LogRecord] is encoded once, when the
// program makes it. A request is a copy of encoded items with a few bytes around them.
//
// # Guarantees
//
//   - A request of spans equals the request of the SDK's exporter for the same spans, field by
//     field, with three exceptions. Links have their trace state. U+FFFD replaces each run of bytes
//     that is not UTF-8, in all texts. A text replaces each list and map that is nested deeper than
//     [MaxDepth].
//   - A request of log records has the fields of its [LogRecord] values, with the last two of these
//     exceptions. Fields that are zero, and severities that OTLP does not have, are left out.
//   - A protobuf library can decode every request, whatever the items contain.
//   - Lengths have the fewest bytes.
//   - Encoding allocates nothing if the buffer has room. Values that are lists, maps or bytes, and
//     texts that are not UTF-8, are the exceptions. A plain attribute with an unsigned number above
//     the range of int64 is another one.
//   - Decoding returns an error for bytes that are not spans. It never panics, and its memory is
//     proportional to the bytes.
//   - The bytes of a [Writer] do not change until each function that retains them has released
//     them. Then a Writer uses the memory again.
//   - All functions and methods, but those of a Writer, are safe for concurrent use. Encoded items
//     and decoded spans are plain data.
//
// # Limitations
//
//   - A request joins items whose resources have the same pointer. The SDK's exporter also joins
//     resources with equal attributes, even if their schema URLs differ.
//   - OTLP counts nanoseconds since 1970. Earlier times are sent as 0. Times after the year 2262
//     wrap around, as in time.Time.UnixNano: they are sent as 0 or as another time. The SDK's
//     exporter does the same.
//   - Log records cannot be decoded. Their attributes are sent as they are: the caller makes sure
//     that no key comes twice.
//   - The SDK's exporter of log records sends an empty body as an empty value, and no count of
//     dropped attributes.
//   - The trace state of a link is left out if it has more than 512 bytes. The SDK's exporter
//     leaves out each one.
//   - OTLP has no child span count, so a decoded span has none. A decoded slice is a BOOLSLICE,
//     INT64SLICE, FLOAT64SLICE or STRINGSLICE if all its elements are of this kind; otherwise, or
//     if it is empty, it is a SLICE.
//   - Spans of the SDK's own type are read in place, without its methods, each of which copies the
//     whole span. This type is private to the SDK. Its fields are compared with those that this
//     package knows, once and when the program runs. Spans of an SDK with other fields are read by
//     their methods: it costs more, and the bytes are the same.
//   - The length of a request is not limited. [Spans.RequestSize] returns it before the request is
//     made.
package otlpenc
