#!/bin/sh
# Prints the changelog of the release that a tag is of: notes.sh TAG. Refuses a tag that
# is not this tree's version, and a version that the changelog does not date.
set -eu
cd "$(dirname "$0")/../.."
tag=${1:?usage: notes.sh TAG}
version=$(cat VERSION)

[ "$tag" = "v$version" ] || {
	echo "notes.sh: the tag is $tag, but VERSION says $version" >&2
	exit 1
}
heading=$(grep -m 1 '^## ' CHANGELOG.md) || heading=nothing
case $heading in
"## $version / "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]) ;;
*)
	echo "notes.sh: CHANGELOG.md begins with \"$heading\", want \"## $version / YEAR-MONTH-DAY\"" >&2
	exit 1
	;;
esac
awk '/^## / && ++heading > 1 {exit} heading == 1 && !/^## /' CHANGELOG.md
