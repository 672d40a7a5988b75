// Package otlpprofiles has the tests of profiles over OTLP with a real Collector.
package otlpprofiles
