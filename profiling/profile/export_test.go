package profile

import "unsafe"

// PlaceSize is the memory of a place in bytes.
const PlaceSize = unsafe.Sizeof(place{})

// NumPlaces returns how many places t has, also those that no sample uses.
func (t *Trace) NumPlaces() int { return len(t.places) }
