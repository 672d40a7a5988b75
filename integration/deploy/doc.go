// Package deploy tests docker-compose.yml and the files of deploy/ without a container
// engine. It checks their rules, and builds the shop as deploy/Dockerfile does. It builds
// the compose file's backends from source, runs them with deploy/'s files, and asks them
// the dashboards' queries. Tempo, Loki and Grafana are not built here: only the shape of their
// files is checked. VictoriaLogs takes the log records.
//
// Run it with -count=1: of files outside the module go test does not see that they have
// changed.
package deploy
