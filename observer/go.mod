module github.com/perfline/perfline/observer

go 1.24
