// Package prometheus pins the Prometheus that the integration tests run against. It
// is a module of its own because only Prometheus has such requirements. Users of
// perfline never download it.
//
//	go build -C integration/prometheus -tags remove_all_sd github.com/prometheus/prometheus/cmd/prometheus
//
// Prometheus's pages are not in the module: this one has its API only.
package prometheus
