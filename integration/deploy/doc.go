// Package deploy tests docker-compose.yml and the files of deploy/ as far as that goes
// without a container engine: the rules that they keep, the shop as deploy/Dockerfile
// builds it, and that what the dashboards ask for is there, in the backends that the
// compose file names, built from source and run with deploy/'s files. Tempo and Grafana
// cannot be built here: of their files only the shape is checked.
//
// Run it with -count=1: of files outside the module go test does not see that they have
// changed.
package deploy
