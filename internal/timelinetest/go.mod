module github.com/perfline/perfline/internal/timelinetest

go 1.24

require (
	github.com/perfline/perfline/marks v0.1.0
	github.com/perfline/perfline/observer v0.1.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
)

replace (
	github.com/perfline/perfline/marks => ../../marks
	github.com/perfline/perfline/observer => ../../observer
)

replace github.com/perfline/perfline/internal/record => ../record

require github.com/perfline/perfline/internal/record v0.1.0
