#!/bin/sh
# Builds the release in a folder again, in a copy of this tree elsewhere, and compares the
# digests: check.sh FOLDER. All is compiled anew, unless GOCACHE names a build cache.
set -eu
[ $# -eq 1 ] || {
	echo "usage: check.sh FOLDER" >&2
	exit 2
}
sums=$(cd "$1" && pwd)/SHA256SUMS
cd "$(dirname "$0")/../.."
. deploy/commit.sh

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM HUP
mkdir "$copy/tree"
# What a release must not depend on: the time of the files, their rights, the folder's name.
umask 077
tar --create --exclude=./.git --exclude=./bin --exclude=./dist . | tar --extract --touch --no-same-permissions --directory="$copy/tree"
GOCACHE=${GOCACHE:-$copy/cache} "$copy/tree/deploy/dist/build.sh" "$copy/dist"
diff "$sums" "$copy/dist/SHA256SUMS" || {
	echo "check.sh: another build of the same tree differs from $1" >&2
	exit 1
}
(cd "$(dirname "$sums")" && sha256sum --quiet --strict --check SHA256SUMS)
echo "Two builds, the same digests."
