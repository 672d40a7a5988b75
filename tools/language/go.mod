module github.com/perfline/perfline/tools/language

go 1.26.0
