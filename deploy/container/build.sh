#!/bin/sh
# Builds the container image: build.sh [TAG [options of the builder]].
#
#   BUILDER    docker (default), podman, or buildah, with options of its own if need be
#   PREBUILT   1: compile with this machine's Go instead of in the golang image, which
#              then need not be fetched
#   PLATFORM   another platform than this machine's, such as linux/arm64
#   GOPROXY    the Go module proxy to fetch from
#
# The same commit gives the same programs; podman and buildah give the same image to the last bit.
set -eu
umask 022
cd "$(dirname "$0")/../.."

version=$(cat VERSION)
tag=${1:-accelerator-exporter:$version}
[ $# -eq 0 ] || shift
builder=${BUILDER:-docker}
branch=$(git rev-parse --abbrev-ref HEAD 2>/dev/null || echo unknown)
. deploy/commit.sh

set -- "$@" --file deploy/container/Dockerfile --tag "$tag" \
	--build-arg "VERSION=$version" --build-arg "REVISION=$REVISION" --build-arg "BRANCH=$branch"
[ -z "${PLATFORM:-}" ] || set -- "$@" --platform "$PLATFORM"
[ -z "${GOPROXY:-}" ] || set -- "$@" --build-arg "GOPROXY=$GOPROXY"
case ${builder%% *} in
*docker) set -- "$@" --build-arg "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" ;;
*) set -- "$@" --timestamp "$SOURCE_DATE_EPOCH" ;;
esac

if [ "${PREBUILT:-}" = 1 ]; then
	stage=$(mktemp -d)
	trap 'rm -rf "$stage"' EXIT
	trap 'exit 1' INT TERM HUP
	if [ -n "${PLATFORM:-}" ]; then
		GOOS=${PLATFORM%%/*} GOARCH=${PLATFORM#*/}
		GOARCH=${GOARCH%%/*}
		export GOOS GOARCH
	fi
	# The tree's state in git is not part of the programs, as it is not in the golang image.
	GOFLAGS="${GOFLAGS:-} -buildvcs=false" make build BIN="$stage/out" REVISION="$REVISION" BRANCH="$branch"
	mkdir -p "$stage/etc/ssl/certs"
	for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
		[ ! -r "$bundle" ] || cp "$bundle" "$stage/etc/ssl/certs/ca-certificates.crt"
	done
	set -- "$@" --build-context "build=$stage"
fi

# shellcheck disable=SC2086
$builder build "$@" .
