# Programs of Debian that tests need.

# installed PROGRAM PACKAGE…: install Debian's packages unless the program is there
installed() {
	local program=$1 root=()
	shift
	type -P "$program" && return
	((EUID == 0)) || root=(sudo --non-interactive)
	# Parts that run at the same time install one after the other: apt-get does not wait for its own lock.
	flock .ci/install.sh "${root[@]}" apt-get update -qq || return 1
	flock .ci/install.sh "${root[@]}" apt-get install -qq -y --no-install-recommends "$@" >/dev/null || return 1
	type -P "$program"
}

# The shell takes 60 % of the processor time of Chromium. Ubuntu has no such package.
browser() {
	installed /usr/lib/chromium/chromium-headless-shell chromium-headless-shell || installed chromium chromium
}

# For the viewers and checkers that are written for it (integration/npm).
node() { installed node nodejs npm && installed npm npm; }

# For the recipes in examples.
databases() { installed pg_ctlcluster postgresql && installed redis-server redis-server; }

qemu() { installed qemu-aarch64-static qemu-user-static; }

# Backends are built once, into the user's cache folder. The first build takes minutes.
built() { go run -C integration ./build; }
