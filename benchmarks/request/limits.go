package main

// limits are the most that the counts may be. Lower one when its count falls; raising one is a
// decision.
var limits = map[string]float64{}
