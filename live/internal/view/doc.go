// Package view has the data of the live page: the types of its JSON, and how they are made from the
// requests in memory, the tables of routes, profiles, sessions and the runtime's figures. Nothing
// here knows HTTP. Package live has the table of the paths that answer with these types.
//
// The comment of a field is its meaning in docs/page-json.md. A number with a fraction is in
// milliseconds unless the tag unit of the field has another unit. A list is never null unless the
// field has the tag null. All text from outside goes through [Shown] or block.
package view
