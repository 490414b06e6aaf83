#!/bin/sh
# Builds a release into a new folder: build.sh FOLDER. docs/releasing.md says what is in it.
#
# The same commit gives the same bytes with the same versions of Go, tar, gzip and dpkg,
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
if ! command -v dpkg-deb >/dev/null || ! tar --version | grep -q 'GNU tar'; then
	echo "build.sh: a release is built with dpkg-deb and GNU tar (Debian has both)" >&2
	exit 1
fi
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

# The shells that accelbench completes for, the file of each, and where its package has it.
completions() {
	cat <<-'END'
		bash accelbench.bash usr/share/bash-completion/completions/accelbench
		zsh _accelbench usr/share/zsh/vendor-completions/_accelbench
	END
}

print_completions() { # print_completions FOLDER
	mkdir "$1"
	env -u GOOS -u GOARCH go build -trimpath -o "$stage/accelbench" ./cmd/accelbench
	completions | while read -r shell file _; do
		"$stage/accelbench" "--completion-script-$shell" >"$1/$file"
	done
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
	ship "$stage/$name" CHANGELOG.md LICENSE README.md README.zh-CN.md VERSION dashboards docs \
		deploy/collect.sh deploy/demo deploy/kubernetes deploy/prometheus deploy/systemd
	cp -R "$stage/completions" "$stage/$name/"
	cp -RP "$stage/bin-$1" "$stage/$name/bin"
	pack "$out/$name.tar.gz" "$stage" "$name"
}

package() { # package ARCHITECTURE
	tree=$stage/package-$1
	share=$tree/usr/share/accelerator-exporter
	papers=$tree/usr/share/doc/accelerator-exporter
	mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/lib/systemd/system" "$tree/usr/lib/sysusers.d" "$tree/etc/default" \
		"$tree/usr/share/lintian/overrides" "$share" "$papers"
	cp "$stage/bin-$1/accelerator_exporter" "$stage/bin-$1/accelbench" "$tree/usr/bin/"
	# Without the head of the unit, which says how to install it by hand.
	sed -e '1,/^$/d' -e 's|/usr/local/bin/accelerator_exporter|/usr/bin/accelerator_exporter|' \
		deploy/systemd/accelerator_exporter.service >"$tree/usr/lib/systemd/system/accelerator_exporter.service"
	cp deploy/systemd/accelerator_exporter.socket "$tree/usr/lib/systemd/system/"
	cp deploy/systemd/accelerator_exporter.sysusers "$tree/usr/lib/sysusers.d/accelerator_exporter.conf"
	cp deploy/systemd/accelerator_exporter.default "$tree/etc/default/accelerator_exporter"
	completions | while read -r _ file installed; do
		install -D -m 644 "$stage/completions/$file" "$tree/$installed"
	done
	ship "$share" CHANGELOG.md README.md README.zh-CN.md dashboards docs deploy/collect.sh deploy/prometheus deploy/systemd
	rm "$share"/deploy/systemd/accelerator_exporter.*

	cp deploy/dist/debian/copyright "$papers/"
	cp deploy/dist/debian/lintian-overrides "$tree/usr/share/lintian/overrides/accelerator-exporter"
	cp deploy/dist/debian/postinst deploy/dist/debian/prerm "$tree/DEBIAN/"
	echo /etc/default/accelerator_exporter >"$tree/DEBIAN/conffiles"
	size=$(find "$tree" -type f ! -path '*/DEBIAN/*' -printf '%s\n' | awk '{kib += int(($1 + 1023) / 1024)} END {print kib}')
	sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$1/" -e "s/@SIZE@/$size/" deploy/dist/debian/control >"$tree/DEBIAN/control"
	sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -R -d "@$SOURCE_DATE_EPOCH")/" deploy/dist/debian/changelog |
		gzip -9n >"$papers/changelog.gz"
	(cd "$tree" && find usr -type f -exec md5sum {} + | sort -k 2) >"$tree/DEBIAN/md5sums"
	settle "$tree"
	chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm"
	dpkg-deb --root-owner-group -Zgzip --build "$tree" "$out/accelerator-exporter_${version}_$1.deb"
}

# chart packs the chart as helm does: the rules and dashboards in it, instead of links to them.
chart() {
	mkdir "$stage/chart"
	cp -RL deploy/kubernetes/accelerator-exporter "$stage/chart/"
	pack "$out/accelerator-exporter-$version.tgz" "$stage/chart" accelerator-exporter
}

print_completions "$stage/completions"
for architecture in amd64 arm64; do
	build "$architecture" "$stage/bin-$architecture"
	tarball "$architecture"
	package "$architecture"
done
chart
cd "$out"
sha256sum -- accelerator* >SHA256SUMS
