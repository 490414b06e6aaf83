#!/bin/sh
# Installs accelerator_exporter and accelbench from a release, as root:
#
#   install.sh [X.Y.Z]   fetches this machine's package of that release, or of the latest
#   install.sh FOLDER    takes it from a folder with the package and SHA256SUMS, without a network
#
# Nothing is installed whose digest is not the one in SHA256SUMS.
# RELEASES, a mirror of the page of releases, and OS_RELEASE, in place of /etc/os-release, may be set.
set -eu
releases=${RELEASES:-https://github.com/accelerator-exporter/accelerator_exporter/releases}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail "run it as root"

case $(uname -m) in
x86_64) machine=x86_64 debian=amd64 ;;
aarch64) machine=aarch64 debian=arm64 ;;
*) fail "there is no release for $(uname -m); make build makes one" ;;
esac

# By the distribution: a host may have more than one package manager. Kylin's desktop is like Debian, its server is not.
# shellcheck disable=SC1090
system=$(. "${OS_RELEASE:-/etc/os-release}" && echo " $ID ${ID_LIKE:-} ")
start="systemctl enable --now accelerator_exporter"
case $system in
*" debian "* | *" ubuntu "*) suffix=_$debian.deb install="dpkg --install" ;;
*" alpine "*) suffix=_$machine.apk install="apk add --allow-untrusted" start="accelerator_exporter &" ;;
*) suffix=.$machine.rpm install="rpm --upgrade --replacepkgs" ;;
esac
command -v "${install%% *}" >/dev/null || fail "no ${install%% *} on$system: take the .tar.gz of the release"

fetch() { # fetch FILE, into $folder
	if command -v curl >/dev/null; then
		curl --fail --silent --show-error --location --output "$folder/$1" "$from/$1"
	else
		wget -q -O "$folder/$1" "$from/$1"
	fi || fail "cannot fetch $from/$1"
}

from=
if [ -d "${1:-}" ]; then
	folder=$1
else
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	trap 'exit 1' INT TERM HUP
	from=$releases/latest/download
	[ -z "${1:-}" ] || from=$releases/download/v$1
	fetch SHA256SUMS
fi
[ -r "$folder/SHA256SUMS" ] || fail "no SHA256SUMS in $folder"
name=$(awk -v suffix="$suffix" 'substr($2, length($2) - length(suffix) + 1) == suffix {print $2}' "$folder/SHA256SUMS")
[ -n "$name" ] || fail "SHA256SUMS names no package that ends in $suffix"
[ -z "$from" ] || fetch "$name"
(cd "$folder" && awk -v name="$name" '$2 == name' SHA256SUMS | sha256sum -c - >/dev/null) || fail "$name is not the file that SHA256SUMS is about"

$install "$folder/$name"
cat <<END
Installed. Next, with the address of your model server:

  accelerator_exporter --check --probe.target=http://127.0.0.1:8000
  $start   # flags: /etc/default/accelerator_exporter
  curl http://127.0.0.1:10068/
END
