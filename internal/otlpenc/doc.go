// Package otlpenc encodes OpenTelemetry spans and log records as OTLP bytes, and decodes spans.
//
//	var groups otlpenc.Groups // one for all spans
//	…
//	groups.Encode(span, func(encoded []otlpenc.Spans) {
//		body := otlpenc.AppendRequest(nil, encoded)
//		…
//	})
//
// perfline encodes each span once, at its end or soon after, and each [LogRecord] once, when the
// program emits it. A request is a copy of encoded items with a few bytes around them.
//
// # Guarantees
//
//   - A request of spans equals the request of the SDK's exporter for the same spans, field by
//     field, with three exceptions. Links carry their trace state. U+FFFD replaces each run of
//     invalid UTF-8. A text replaces each list and map that is nested deeper than [MaxDepth].
//   - A request of log records has the fields of its [LogRecord] values, with the last two
//     exceptions. The request omits zero fields, and severities that OTLP does not define.
//   - A protobuf library can decode every request.
//   - Lengths have the fewest bytes.
//   - Encoding allocates nothing if the buffer has room, except for lists, maps, bytes, invalid
//     UTF-8, and plain attributes with an unsigned number above the range of int64.
//   - Decoding returns an error for bytes that are not spans. Decoding never panics, and the memory
//     is proportional to the bytes.
//   - The bytes of a [Writer] do not change until each retaining function has released them. Then a
//     Writer reuses the memory.
//   - All functions and methods, except for a Writer's, are safe for concurrent use. Encoded items
//     and decoded spans are plain data.
//
// # Limitations
//
//   - A request joins items with the same pointer to a resource. The SDK's exporter also joins
//     resources with equal attributes, even if their schema URLs differ.
//   - OTLP counts nanoseconds since 1970. The encoder sends earlier times as 0. Times after the
//     year 2262 wrap around, as in time.Time.UnixNano: the encoder sends 0 or another time. The
//     SDK's exporter does the same.
//   - Log records cannot be decoded. The encoder sends their attributes without changes: callers
//     must remove duplicate keys.
//   - The SDK's exporter of log records sends an empty body as an empty value, and no count of
//     dropped attributes.
//   - The encoder omits the trace state of a link if it has more than 512 bytes. The SDK's exporter
//     omits each trace state.
//   - OTLP has no child span count, so a decoded span has none. A decoded slice is a BOOLSLICE,
//     INT64SLICE, FLOAT64SLICE or STRINGSLICE if all its elements have this kind; otherwise, or
//     without elements, the slice is a SLICE.
//   - The encoder reads the fields of the SDK's private span type in place, because each method of
//     that type copies the whole span. The encoder checks the fields of the type once, at run time.
//     If an SDK has other fields, the encoder calls the methods: at a higher cost, for the same
//     bytes.
//   - The length of a request is unlimited. [Spans.RequestSize] returns the length in advance.
package otlpenc
