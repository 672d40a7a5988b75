# Real backends, browsers and viewers. The first run builds the backends, which takes minutes: before the tests, whose time is limited.

part_integration() {
	step "a browser is there" installed chromium chromium || return 1
	step "Node is there" node || return 1
	step "the backends are built" go run -C integration ./build || return 1
	step "tests against real backends" backends || return 1
	step "backends fail, each in each way and at random, and the books add up" go run -C lab ./trial -short || return 1
	step "one Collector, and what is stored" go run -C lab ./scale -short || return 1
	step "the sentence on a slow request names its cause" go run -C lab ./slow -short || return 1
	step "an agent finds the causes by the tools alone" go run -C lab ./slow -short agent || return 1
	step "an agent's diagnosis can be written down" go run -C lab ./transcript || return 1
	step "the cost of the live page can be measured" go run -C lab ./pagecost -short || return 1
}

# For the viewers and checkers that are written for it (integration/npm).
node() { installed node nodejs npm && installed npm npm; }

# All tests must have run: a skipped one is a failure.
backends() {
	local log=$logs/backends name names
	(cd integration && go test -race -vet=off -count=1 -timeout 35m -v ./...) >"$log" 2>&1 || { cat "$log"; return 1; }
	(cd integration && go test -race -vet=off -count=1 -timeout 15m -cpu 1,8 -run EveryMark -v .) >>"$log" 2>&1 || { cat "$log"; return 1; }
	cat "$log"
	if grep -E '^ *--- SKIP' "$log"; then
		echo "a backend test was skipped"
		return 1
	fi
	# TestMain takes an m; every other test of the tracked files has to have passed.
	names=$(git ls-files 'integration/*_test.go' | xargs -r sed -nE 's/^func (Test[A-Za-z0-9_]*)\(t .*/\1/p')
	[ -n "$names" ] || { echo "the integration module has no tests"; return 1; }
	for name in $names; do
		grep -qE "^--- PASS: $name " "$log" || { echo "$name did not run"; return 1; }
	done
}
