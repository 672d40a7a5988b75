// Package loki pins the Loki that the integration tests run against. It is a module of
// its own because only Loki has such requirements. Users of perfline never download it.
//
//	go build -C integration/loki -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' github.com/grafana/loki/v3/cmd/loki
//
// "go mod tidy" made its go.mod of Loki's, with Loki's replacements and exclusions. One
// replacement is left out: github.com/grafana/loki/pkg/push is a folder there, but the
// module proxy has it as a module.
package loki
