# Parts, their steps and their logs.

# sequence PART…: run the parts that no other sequence has taken, until a step of this or another sequence fails.
sequence() {
	local part
	for part in "$@"; do
		mkdir "$logs/$part.taken" 2>/dev/null || continue
		"part_$part" || return 1
	done
}

# step NAME COMMAND…: run a step of a part. Lines of its log that begin with NOTE: are shown.
step() {
	local name=$1 log began=$SECONDS cpu status=0
	shift
	[ ! -e "$logs/failed" ] || return 1
	log=$(mktemp "$logs/XXXXXX.log")
	local TIMEFORMAT='%1U %1S'
	{ time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.cpu" || status=$?
	cpu=$(awk '{ printf "%.0f", $1 + $2 }' "$log.cpu")
	if [ "$status" = 0 ]; then
		printf '%-11s ok %4d s, CPU %4d s  %s\n' "${FUNCNAME[1]#part_}" $((SECONDS - began)) "$cpu" "$name"
		sed -n 's/^NOTE: /            /p' "$log"
		return
	fi
	touch "$logs/failed"
	printf '\n=== %s: %s\n' "${FUNCNAME[1]#part_}" "$name"
	cat "$log"
	printf '\nFAILED after %d s: %s\n' $((SECONDS - began)) "$name"
	return 1
}

# summary prints what all steps say together, and ends the run.
summary() {
	local passed failed
	passed=$(cat "$logs"/*.log 2>/dev/null | grep -cE '^ok  ') || true
	failed=$(cat "$logs"/*.log 2>/dev/null | grep -cE '^FAIL\s.*/') || true
	((passed + failed == 0)) || printf '\npackages: %d passed, %d failed\n' "$passed" "$failed"
	[ ! -e "$logs/failed" ] || exit 1
	printf 'ALL OK after %d s\n' "$SECONDS"
}

# find_modules sets modules to the folders of all modules, so that a new one is never forgotten. Pins of
# programs are no modules: they are other *.mod files.
find_modules() {
	local found m
	# Assigned, not piped into mapfile: a git that refuses (a clone owned by another
	# user, say) must stop the run, not leave it with nothing to check.
	if ! found=$(git ls-files '*go.mod' | xargs -r -n1 dirname); then
		echo "FAILED: listing the modules with git"
		exit 1
	fi
	mapfile -t modules <<<"$found"
	for m in . examples lab integration "${light_modules[@]}"; do
		[[ " ${modules[*]} " == *" $m "* ]] || { echo "FAILED: module $m was not found"; exit 1; }
	done
}

in_each() { # in_each COMMAND…: run it in every module
	in_modules "${modules[*]}" "$@"
}

in_nested() { # in_nested COMMAND…: in every module without a part of its own, but not in the workshop
	local m others=()
	for m in "${modules[@]}"; do
		[[ " . integration ${light_modules[*]} ${workshop[*]} " == *" $m "* ]] || others+=("$m")
	done
	in_modules "${others[*]}" "$@"
}

in_light() { # in_light COMMAND…: in the modules that import only the standard library
	in_modules "${light_modules[*]}" "$@"
}

in_modules() { # in_modules "MODULE…" COMMAND…
	local m list=$1
	shift
	for m in $list; do
		echo "--- $m"
		(cd "$m" && "$@") || return 1
	done
}
