//go:build race

package cpushare

const raceDetector = true
