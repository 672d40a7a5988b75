module github.com/perfline/perfline/mcpserver

go 1.26.0

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/perfline/perfline v0.1.0
)

replace (
	github.com/perfline/perfline => ../
	github.com/perfline/perfline/marks => ../marks
	github.com/perfline/perfline/observer => ../observer
)
