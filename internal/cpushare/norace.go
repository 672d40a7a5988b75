//go:build !race

package cpushare

const raceDetector = false
