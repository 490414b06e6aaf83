# shellcheck shell=sh
# The commit that a build is of, for the scripts that read this file in the root of the
# repository: REVISION, and its time as SOURCE_DATE_EPOCH. What is set already stays, for
# a tree without git, as from an archive, which has neither.
if [ -z "${REVISION:-}" ]; then
	# A fixed length: git's own choice grows with the number of objects in the clone.
	REVISION=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
	[ -z "$(git status --porcelain 2>/dev/null)" ] || REVISION=$REVISION-modified
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export REVISION SOURCE_DATE_EPOCH
