# The modules of examples, lab, tools and agents.

part_nested() {
	step "PostgreSQL and Redis are there" databases || return 1
	step "tests" in_nested go test -race -vet=off -count=1 ./... || return 1
}
