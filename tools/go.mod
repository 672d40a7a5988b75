module github.com/perfline/perfline/tools

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1
	golang.org/x/mod v0.42.0
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sync v0.8.0 // indirect
