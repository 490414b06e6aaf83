#!/bin/sh
# Builds a release into a new folder: build.sh FOLDER. docs/releasing.md says what is in it.
#
# The same commit gives the same bytes with the same versions of Go, tar and gzip,
# wherever the tree lies, whatever the time and the umask are.
set -eu
umask 022
LC_ALL=C
export LC_ALL

[ $# -eq 1 ] || {
	echo "usage: build.sh FOLDER" >&2
	exit 2
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
[ -z "$(ls -A "$out")" ] || {
	echo "build.sh: $1 is not empty" >&2
	exit 1
}
tar --version | grep -q 'GNU tar' || {
	echo "build.sh: a release is built with GNU tar" >&2
	exit 1
}
cd "$(dirname "$0")/../.."
. deploy/commit.sh
version=$(cat VERSION)

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
trap 'exit 1' INT TERM HUP

# Nothing of this machine's settings reaches the programs; nor does a branch, which a tag has none of.
unset GOEXPERIMENT
export CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off GOWORK=off GOFLAGS=-buildvcs=false
build() { # build ARCHITECTURE FOLDER
	GOOS=linux GOARCH=$1 make --no-print-directory build BIN="$2" REVISION="$REVISION" BRANCH=HEAD
}

print_completions() { # print_completions FOLDER
	mkdir "$1"
	env -u GOOS -u GOARCH go build -trimpath -o "$stage/accelbench" ./cmd/accelbench
	"$stage/accelbench" --completion-script-bash >"$1/accelbench.bash"
	"$stage/accelbench" --completion-script-zsh >"$1/_accelbench"
}

# ship copies what a user needs of the tree: neither code nor tests.
ship() { # ship FOLDER PATH...
	to=$1
	shift
	find "$@" \( -name testdata -o -name tests \) -prune -o ! -type d ! -name '*.go' -print >"$stage/list"
	tar -cf "$stage/list.tar" -T "$stage/list"
	tar -xf "$stage/list.tar" -C "$to"
}

# settle gives files the rights and the time that they have in every archive.
settle() { # settle FOLDER
	chmod -R u=rwX,go=rX "$1"
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

pack() { # pack FILE PARENT FOLDER
	settle "$2/$3"
	tar --create --file="$1" --use-compress-program='gzip -n' --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
		--owner=0 --group=0 --numeric-owner --directory="$2" "$3"
}

# tarball packs what this repository has for a server, at the paths it has here.
tarball() { # tarball ARCHITECTURE
	name=accelerator_exporter-$version.linux-$1
	mkdir "$stage/$name"
	ship "$stage/$name" CHANGELOG.md CONTRIBUTING.md LICENSE README.md README.zh-CN.md VERSION dashboards docs \
		deploy/collect.sh deploy/demo deploy/kubernetes deploy/prometheus deploy/systemd
	cp -R "$stage/completions" "$stage/$name/"
	cp -RP "$stage/bin-$1" "$stage/$name/bin"
	pack "$out/$name.tar.gz" "$stage" "$name"
}

# layout lays out what nfpm.yaml names, beside the programs.
layout() {
	cp LICENSE deploy/dist/nfpm.yaml deploy/dist/postinstall.sh deploy/dist/preremove.sh "$stage/"
	mkdir "$stage/share" "$stage/unit"
	ship "$stage/share" CHANGELOG.md CONTRIBUTING.md README.md README.zh-CN.md dashboards docs deploy/collect.sh deploy/prometheus deploy/systemd
	mv "$stage"/share/deploy/systemd/accelerator_exporter.* "$stage/unit/"
	# Without the head of the unit, which says how to install it by hand.
	sed -i -e '1,/^$/d' -e 's|/usr/local/bin/accelerator_exporter|/usr/bin/accelerator_exporter|' "$stage/unit/accelerator_exporter.service"
	settle "$stage"
}

packages() { # packages ARCHITECTURE
	for format in deb rpm apk; do
		(cd "$stage" && ARCHITECTURE=$1 VERSION=$version "$nfpm" package --config nfpm.yaml --packager "$format" --target "$out/" >/dev/null)
	done
}

# chart packs the chart as helm does: the rules and dashboards in it, instead of links to them.
chart() {
	mkdir "$stage/chart"
	cp -RL deploy/kubernetes/accelerator-exporter "$stage/chart/"
	pack "$out/accelerator-exporter-$version.tgz" "$stage/chart" accelerator-exporter
}

make --no-print-directory bin/tools/nfpm
nfpm=$PWD/bin/tools/nfpm
print_completions "$stage/completions"
for architecture in amd64 arm64; do
	build "$architecture" "$stage/bin-$architecture"
	tarball "$architecture"
done
layout
packages amd64
packages arm64
chart
install -m 755 deploy/install.sh "$out/"
cd "$out"
sha256sum -- accelerator* install.sh >SHA256SUMS
