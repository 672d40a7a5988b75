# Real backends, browsers and viewers. The backends are built before the tests, whose time is limited.

part_integration() {
	step "a browser is there" browser || return 1
	step "Node is there" node || return 1
	step "the backends are built" built || return 1
	step "tests against real backends" backends || return 1
}

# in_integration ARGUMENT…: run tests, and add what they print to the log, which a failure shows
in_integration() {
	(cd integration && go test -vet=off -count=1 -timeout 35m -v "$@") >>"$log" 2>&1 || { cat "$log"; return 1; }
}

# All tests must have run: a skipped one is a failure.
backends() {
	local log=$logs/backends name names packages
	# The race detector sees the product in its own tests. Here it runs where the product has other code around it, and
	# where many goroutines make marks. It doubles the cost of the other tests, which wait for programs.
	: >"$log"
	in_integration -race . -cpu 1,8 -run EveryMark || return 1
	in_integration -race ./peers ./contrib || return 1
	(cd integration && go list ./... | grep -vE '/integration/(peers|contrib)$') >"$log.packages" || return 1
	mapfile -t packages <"$log.packages"
	in_integration "${packages[@]}" -skip EveryMark || return 1
	cat "$log"
	if grep -E '^ *--- SKIP' "$log"; then
		echo "a backend test was skipped"
		return 1
	fi
	# TestMain takes an m; every other test of the tracked files has to have passed. Tests with the tag lab are the laboratory's.
	names=$(git ls-files 'integration/*_test.go' | grep -v '_lab_test\.go$' | xargs -r sed -nE 's/^func (Test[A-Za-z0-9_]*)\(t .*/\1/p')
	[ -n "$names" ] || { echo "the integration module has no tests"; return 1; }
	for name in $names; do
		grep -qE "^--- PASS: $name " "$log" || { echo "$name did not run"; return 1; }
	done
}
