module github.com/perfline/perfline/internal/record

go 1.24
