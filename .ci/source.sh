# What needs no test run: source, documents, linter.

part_source() {
	step "formatting" formatted || return 1
	step "no large file" small_files || return 1
	step "modules are tidy" in_each go mod tidy -diff || return 1
	step "generated code is the schema's" go run -C tools ./protogen -diff || return 1
	step "the workflow of hosted CI" go tool -modfile="$PWD/tools/actionlint.mod" actionlint || return 1
	step "the API since the last release (a test holds docs/api.txt against the code)" api_changes || return 1
	step "what the documents say of the code, and the rules for imports" go test -vet=off -count=1 ./internal/repository || return 1
	step "the next release could be tagged" bash .ci/release || return 1
	step "a rehearsal of the release" go run -C tools ./rehearsal -library "$light_release" || return 1
}

part_lint() {
	step "linter, with vet" linted || return 1
	step "vet for other systems" other_systems || return 1
}

formatted() {
	local files
	# gofmt lists nothing when it cannot parse: its status counts as well.
	files=$(git ls-files '*.go' | xargs gofmt -l) || return 1
	[ -z "$files" ] || { echo "not gofmt'd: $files"; return 1; }
}

# The output of a build does not belong in the history.
small_files() {
	local large
	large=$(git ls-files -z | xargs -0 sh -c 'find "$@" -size +1024k' find) || return 1
	[ -z "$large" ] || { echo "over 1 MiB: $large"; return 1; }
}

# The lines of the API's listing against those of the last release.
api_changes() {
	local tags last
	tags=$(git -c versionsort.suffix=- tag --list 'v[0-9]*' --merged HEAD --sort=-version:refname) || return 1
	read -r last <<<"$tags"
	[ -n "$last" ] || { echo "NOTE: there is no release tag here to compare with"; return; }
	if ! git cat-file -e "$last:docs/api.txt" 2>/dev/null; then
		echo "NOTE: $last had no docs/api.txt"
	elif git diff --quiet "$last" -- docs/api.txt; then
		echo "NOTE: the API is that of $last"
	else
		echo "NOTE: since $last (-: was, +: is):"
		git diff --no-color -U0 "$last" -- docs/api.txt | sed -n '/^[-+][^-+]/s/^/NOTE: /p'
	fi
}

# The linter runs vet, with more checks than go vet has on. In a workspace, it looks once at packages that several modules use.
linted() {
	local linter
	linter=$(go tool -modfile=tools/lint.mod -n golangci-lint) || return 1
	GOWORK=$logs/go.work go work init "${modules[@]}" || return 1
	GOWORK=$logs/go.work GOGC=300 "$linter" run "${modules[@]/%//...}"
}

# All that a program has of the profiler, for Windows and for 32 bits. For systems like Linux, only packages
# with code for one system: to vet the others there, too, takes minutes with a cold cache.
other_systems() {
	local folders target
	mapfile -t folders < <(system_folders)
	echo "${folders[*]}"
	((${#folders[@]} >= 4)) || { echo "too few packages have code for one system"; return 1; }
	vet_for windows/amd64 ./profiling/... ./waits/... ./internal/... || return 1
	vet_for linux/386 ./profiling/... ./waits/... ./internal/... || return 1
	in_light vet_for windows/amd64 ./... || return 1
	in_light vet_for linux/386 ./... || return 1
	for target in darwin/arm64 freebsd/amd64 linux/arm64; do
		vet_for "$target" "${folders[@]}" || return 1
	done
}

# Nothing that is compiled for it runs: inlining and debugging data would be work in vain.
vet_for() { # vet_for SYSTEM/PROCESSOR PACKAGE…
	local target=$1
	shift
	echo "--- $target"
	GOOS=${target%/*} GOARCH=${target#*/} go vet -gcflags='all=-l -dwarf=false' "$@"
}

# The packages of this module with a file for one system or processor, by its name or its build constraint.
system_folders() {
	local names='linux|darwin|windows|freebsd|unix|amd64|arm64|386' others=() m
	for m in "${modules[@]}"; do
		[[ $m == . ]] || others+=(":!$m")
	done
	{
		git grep -lE "^//go:build .*\b($names)\b" -- '*.go' "${others[@]}"
		git ls-files -- '*.go' "${others[@]}" | grep -E "_($names)(_test)?\.go\$"
	} | xargs -n1 dirname | sort -u | sed 's|^|./|'
}
