# The modules of examples, lab, tools and agents.

part_nested() {
	step "PostgreSQL and Redis are there" databases || return 1
	step "tests of lab and tools" in_modules "${workshop[*]}" go test -vet=off -count=1 ./... || return 1
	step "tests, with the race detector" in_nested go test -race -vet=off -count=1 ./... || return 1
}
