// Package ownspans selects the provider of perfline.Start: perfline's own or the SDK's.
package ownspans

// Enabled selects perfline's own provider. Tests set it before they call perfline.Start. They select it in a program by
//
//	go build -ldflags "-X github.com/perfline/perfline/internal/ownspans.linked=true"
var Enabled = linked == "true"

var linked string // set by the linker
