module github.com/perfline/perfline/marks

go 1.24

require github.com/perfline/perfline/observer v0.1.0

replace github.com/perfline/perfline/observer => ../observer

replace github.com/perfline/perfline/internal/record => ../internal/record

require github.com/perfline/perfline/internal/record v0.1.0
