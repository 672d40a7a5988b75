// Package loki pins the Loki that the integration tests run against. It is a module of
// its own because only Loki has such requirements. Users of perfline never download it.
//
//	go build -C integration/loki -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' github.com/grafana/loki/v3/cmd/loki
//
// Its requirements, replacements and exclusions are Loki's own, without those that only
// Loki's tests need.
package loki
