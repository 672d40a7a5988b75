# The tests of the users' modules. They run without vet: the linter runs it.

# Packages that use the runtime's internals, or share memory with it.
sampler=(./profiling ./internal/spanlabels ./profiling/internal/... ./internal/goruntime)

# Packages with many goroutines, and the number of processors of this machine must not matter.
crowded=(./bridge ./bridge/bridgehttp)

part_module() {
	step "tests with the race detector" in_most go test -race -vet=off -count=1 -skip "$unraced" || return 1
	step "the bridges with the race detector and 8 processors" go test -race -vet=off -count=1 -cpu 8 -skip "$unraced" "${crowded[@]}" || return 1
	step "observer and marks with the race detector and 8 processors" in_light go test -race -vet=off -count=1 -cpu 8 ./... || return 1
	step "allocation budgets (not countable with the race detector)" budgets || return 1
	step "benchmarks run" go test -C internal/timelinetest -vet=off -count=1 -run '^$' -bench . -benchtime 100x ./marks || return 1
}

# These run under the other releases only. Some start many programs, or repeat others' work over another provider. The rest
# encodes megabytes on the test's own goroutine, which takes the race detector ten times as long.
unraced='^Test(Over(Processors|SDK)|NoSecretComesOut'
unraced+='|WaitsAreBounded|FilesOfAnySession|(LogRecord)?Lengths|EncodeInParts|LargeSnapshot|CPUProfileInParts)$'

# in_most GO TEST ARGUMENT…: in the root's packages but those of another step: the bridges, and the one that reads the repository
in_most() {
	local folders
	mapfile -t folders < <(go list ./... | grep -vE '/(internal/repository|bridge|bridge/bridgehttp)$')
	((${#folders[@]} >= 50)) || { echo "too few packages: ${folders[*]}"; return 1; }
	"$@" "${folders[@]}"
}

# Other releases of Go differ in what perfline links to. A data race in our code is one under each
# release: the race detector runs again only where code and runtime share memory.
part_releases() {
	local release
	step "$light_release: observer and marks" in_release "$light_release" in_light go test -vet=off -count=1 ./... || return 1
	for release in "${go_releases[@]:1}"; do
		step "$release: tests" in_release "$release" in_most go test -vet=off -count=1 -skip Alloc || return 1
		step "$release: the bridges with 1 processor, where no two goroutines race" in_release "$release" go test -vet=off -count=1 -cpu 1 -skip Alloc "${crowded[@]}" || return 1
		step "$release: observer and marks with 1 processor" in_release "$release" in_light go test -vet=off -count=1 -cpu 1 -skip Alloc ./... || return 1
		step "$release: allocation budgets" in_release "$release" budgets || return 1
		step "$release: mcpserver" in_release "$release" go test -C mcpserver -vet=off -count=1 ./... || return 1
		step "$release: the sampler with the race detector" in_release "$release" go test -race -vet=off -count=1 "${sampler[@]}" || return 1
	done
	step "the newest OpenTelemetry" newest_opentelemetry || return 1
}

# OpenTelemetry releases that came after the one required are tested as well. A failure there is told, and does not hold up other work.
newest_opentelemetry() {
	local mod=$logs/newest.mod required paths newest
	mapfile -t paths < <(go list -m -f '{{if not .Indirect}}{{.Path}}@latest{{end}}' all | grep '^go.opentelemetry.io/otel')
	((${#paths[@]} >= 5)) || { echo "too few modules of OpenTelemetry are required"; return 1; }
	cp go.mod "$mod" && cp go.sum "${mod%.mod}.sum" || return 1
	go get -modfile="$mod" "${paths[@]}" || { echo "NOTE: NOT RUN: the newest OpenTelemetry cannot be fetched"; return 0; }
	required=$(go list -m go.opentelemetry.io/otel/sdk) || return 1
	newest=$(go list -m -modfile="$mod" go.opentelemetry.io/otel/sdk) || return 1
	if [[ $newest == "$required" ]]; then
		echo "NOTE: the newest is the one required, $required"
	elif go test -modfile="$mod" -vet=off -count=1 ./...; then
		echo "NOTE: passed with $newest"
	else
		echo "NOTE: FAILED with $newest; $required is required"
	fi
}

# The sampler without the runtime's internals, under each release.
part_portable() {
	local release
	step "the sampler, with the race detector" go test -race -vet=off -count=1 -tags perfline_portable "${sampler[@]}" || return 1
	for release in "${go_releases[@]:1}"; do
		step "$release: the sampler" in_release "$release" go test -vet=off -count=1 -tags perfline_portable "${sampler[@]}" || return 1
	done
}

# in_release RELEASE COMMAND…: run it under a release of Go, and see that it is that one
in_release() {
	local release=$1 found
	shift
	found=$(GOTOOLCHAIN=$release go env GOVERSION) || return 1
	[[ $found == "$release" ]] || { echo "the go command runs $found where $release was asked for"; return 1; }
	GOTOOLCHAIN=$release "$@"
}

# folders_of PATTERN: the packages of the root's module with tests whose names have the pattern
folders_of() {
	local others=() m
	for m in "${modules[@]}"; do
		[[ $m == . ]] || others+=(":!$m")
	done
	git grep -lE "^func Test\w*$1\w*\(t " -- '*_test.go' "${others[@]}" | xargs -r -n1 dirname | sort -u | sed 's|^|./|'
}

budgets() {
	local folders
	mapfile -t folders < <(folders_of Alloc)
	((${#folders[@]} >= 5)) || { echo "too few packages have allocation tests"; return 1; }
	budgets_of "${folders[@]}" || return 1
	in_modules internal/timelinetest budgets_of ./marks ./timeline
}

# Budgets run without other tests, whose goroutines may still allocate. They are behind a build tag: a run of no test must not pass unnoticed.
budgets_of() { # budgets_of PACKAGE…
	local out
	echo "$*"
	out=$(go test -count=1 -vet=off -run Alloc "$@" 2>&1) || { echo "$out"; return 1; }
	echo "$out"
	! grep 'no tests to run' <<<"$out" || { echo "no allocation test ran there"; return 1; }
}

# The assembler, labels of goroutines and the log of samples on arm64; 64-bit atomics and labels on a processor of
# 32 bits. QEMU passes signals of timers on, slowly. A test of long chains is left out, which takes a minute there. So is a test that starts
# processes of its own program, which a program in QEMU cannot do.
part_processors() {
	local root=$PWD
	step "QEMU is there" qemu || return 1
	step "arm64 in QEMU" env GOARCH=arm64 CGO_ENABLED=0 go test -short -vet=off -count=1 -exec qemu-aarch64-static -skip 'TestChainsAreBounded|TestAroundTheGlobalProvider' \
		./internal/goruntime ./internal/spanlabels ./profiling/internal/cpuprof ./profiling/internal/sampling || return 1
	step "32 bits" on_32_bits -short -vet=off -count=1 ./internal/queue ./internal/goruntime ./internal/spanlabels || return 1
	step "32 bits: observer and marks" in_light on_32_bits -short -vet=off -count=1 ./... || return 1
}

# on_32_bits ARGUMENT…: go test on 386. QEMU runs no Go programs for it: where the kernel runs none either, on arm in QEMU.
on_32_bits() {
	local try
	if try=$(GOARCH=386 CGO_ENABLED=0 go test -C "$root/observer" -vet=off -count=1 -run '^$' . 2>&1) || ! grep -q 'exec format error' <<<"$try"; then
		GOARCH=386 CGO_ENABLED=0 go test "$@"
	else
		echo "NOTE: on arm, because the kernel runs no programs for 386"
		GOARCH=arm CGO_ENABLED=0 go test -exec qemu-arm-static -skip TestAroundTheGlobalProvider "$@"
	fi
}
