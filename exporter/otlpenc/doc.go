// Package otlpenc encodes OpenTelemetry spans as OTLP bytes, and decodes them.
//
//	group := groups.Of(span)                       // groups is an otlpenc.Groups
//	body := otlpenc.AppendSpan(nil, span)          // as soon as the span has ended
//	…
//	request := otlpenc.AppendRequest(nil, []otlpenc.Spans{{Group: group, Bytes: body, Count: 1}})
//
// A span is encoded once, on its own. A request is made by appending encoded spans, which costs a copy.
//
// # What it guarantees
//
//   - A request is equal to the request of the SDK's exporter for the same spans, field by field. Text that
//     is not UTF-8 is the first exception: U+FFFD replaces each run of wrong bytes, in names, keys, values,
//     messages, schema URLs and trace states. The second are values nested deeper than [MaxDepth].
//   - Spans are grouped by the pointer of their resource, then by their scope. The SDK's exporter also
//     joins resources with equal attributes, even if their schema URLs differ.
//   - Every request can be decoded by a protobuf library, whatever the spans contain.
//   - Fields are in the order of their numbers, and lengths have the fewest bytes.
//   - Encoding allocates nothing for a buffer with room. Exceptions are values that are lists, maps or
//     bytes, and text that is not UTF-8.
//   - Decoding returns an error for bytes that are not spans. It never panics, and the memory it takes is
//     proportional to the bytes.
//   - All functions are safe for concurrent use. Encoded and decoded spans are plain data.
//
// # Limitations
//
//   - OTLP has nanoseconds since 1970. Times before are sent as 0. Times after the year 2262 wrap around, as
//     time.Time.UnixNano does, and are sent as 0 or as another time. The SDK's exporter does the same.
//   - OTLP has no child span count and no kind for empty slices. Links are sent without trace state, as the
//     SDK's exporter does. Decoded spans lack all these. A slice of equal kinds comes back as a slice
//     of this kind: INT64SLICE for a SLICE of INT64.
//   - A request has no bound. [RequestSize] tells its length before it is made.
package otlpenc
