// Package view builds the JSON of the live page from requests, routes, profiles, sessions and
// runtime figures. Package live maps URL paths to the types of this package.
//
// The comment of a field is its meaning in docs/page-json.md. A float is in milliseconds unless the
// field has a tag unit. A list is never null unless the field has a tag null. All text from outside
// passes through [Shown] or block.
package view
