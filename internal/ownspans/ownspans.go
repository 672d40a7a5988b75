// Package ownspans selects the provider of perfline.Start: perfline's own or the SDK's.
package ownspans

// Enabled selects perfline's own provider. Tests set it before they call perfline.Start.
var Enabled bool
