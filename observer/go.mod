module github.com/perfline/perfline/observer

go 1.24

replace github.com/perfline/perfline/internal/record => ../internal/record

require github.com/perfline/perfline/internal/record v0.1.0
