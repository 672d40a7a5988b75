// Package signals has the tests of all signals, and of profiles over OTLP, with a real Collector.
package signals
