#!/bin/sh
# Collects what mx-smi, ht-smi, npu-smi and hccn_tool print on this server, to be sent in as
# a capture. It runs reading commands only, each with a time limit, and masks
# serial numbers, UUIDs, MAC and IP addresses and the host's name.
set -eu

usage() {
	cat <<-'END'
		usage: collect.sh [-o FOLDER] [-t SECONDS]

		  -o FOLDER    new folder to write to (default: captures-DATE-TIME, here)
		  -t SECONDS   longest run of one command (default: 20)

		Run it in a shell in which the vendor's tool works. It changes nothing on the cards.
	END
}

folder=captures-$(date -u +%Y%m%d-%H%M%S)
limit=20
while getopts o:t:h option; do
	case $option in
	o) folder=$OPTARG ;;
	t) limit=$OPTARG ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done
case $limit in
'' | *[!0-9]* | 0)
	echo "collect.sh: -t wants whole seconds" >&2
	exit 2
	;;
esac

LC_ALL=C
export LC_ALL
umask 077
mkdir "$folder" # fails if it is there: nothing is written over
raw=$folder/.raw
pid=''

# end stops what still runs and removes what was not masked yet.
end() {
	[ -z "$pid" ] || stop "$pid"
	rm -f "$raw".*
}
trap end EXIT
trap 'exit 130' INT TERM HUP

say() {
	echo "$*"
	echo "$*" | mask >>"$folder/summary.txt"
}

# quoted makes a text literal in a regular expression.
quoted() { printf '%s' "$1" | sed 's/[^[:alnum:]_-]/\\&/g'; }

host=$(uname -n)
host=${host:-localhost}
fqdn=$(quoted "$host")
short=$(quoted "${host%%.*}")

# mask keeps the length of what stands in tables. A host's name is masked as a
# whole word only, and twice, since two names may share a separator.
mask() {
	hex='[0-9A-Fa-f]'
	edge='[^[:alnum:]_-]'
	sed -E \
		-e "s/$hex{8}-$hex{4}-$hex{4}-$hex{4}-$hex{12}/xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx/g" \
		-e "s/(^|[^0-9A-Fa-f:])($hex{2}[:-]){5}$hex{2}([^0-9A-Fa-f:]|\$)/\\1xx:xx:xx:xx:xx:xx\\3/g" \
		-e 's/^([[:space:]]*([A-Za-z]* )?([Ss][Nn]|[Ss]erial|UUID|[A-Za-z]*[Dd]ie ID)[A-Za-z ]*: *)[^[:space:]].*/\1MASKED/' \
		-e 's/(([Ii][Pp]|[Aa]ddr|[Gg]ateway|[Nn]etmask).*[^0-9.])([0-9]{1,3}\.){3}[0-9]{1,3}/\1x.x.x.x/' \
		-e "s/(^|$edge)($fqdn|$short)($edge|\$)/\\1HOST\\3/g" \
		-e "s/(^|$edge)($fqdn|$short)($edge|\$)/\\1HOST\\3/g"
}

# stop ends a process and what it started, where setsid gave them a group.
stop() {
	kill -s TERM -- "-$1" 2>/dev/null || kill -s TERM "$1" 2>/dev/null || true
	sleep 1
	kill -s KILL -- "-$1" 2>/dev/null || kill -s KILL "$1" 2>/dev/null || true
}

# run asks one question and keeps the masked answer. It waits for a file, not
# for the process: one that sleeps in the driver cannot be waited for.
run() {
	tool=$1
	shift
	name=$(printf '%s' "$(basename "$tool") $*" | sed -e 's/ *$//' -e 's/[^[:alnum:]]\{1,\}/-/g' -e 's/-$//')
	: >"$raw.out" && : >"$raw.err" && rm -f "$raw.status"
	# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; empty without setsid
	$setsid sh -c 'ulimit -f 2048; out=$1; shift; "$@" >"$out.out" 2>"$out.err"; echo $? >"$out.status"' \
		sh "$raw" "$tool" "$@" </dev/null &
	pid=$!
	waited=0
	while [ ! -s "$raw.status" ] && [ "$waited" -lt "$limit" ] && kill -0 "$pid" 2>/dev/null; do
		sleep 1
		waited=$((waited + 1))
	done
	if [ -s "$raw.status" ]; then
		status="exit status $(cat "$raw.status")"
	else
		status="no end within $limit s, so not asked again"
		stop "$pid"
		hung=$tool
	fi
	pid=''
	mask <"$raw.out" >"$folder/$name.txt"
	mask <"$raw.err" >"$folder/$name.stderr.txt"
	[ -s "$folder/$name.stderr.txt" ] || rm -f "$folder/$name.stderr.txt"
	rm -f "$raw".*
	say "  $name.txt: $(wc -l <"$folder/$name.txt") lines, $status"
}

# ask runs a question unless the tool hung before: each more could hang as well.
ask() {
	[ "$hung" != "$1" ] || return 0
	run "$@"
}

# find_tool looks for a tool on the PATH and where the drivers put it.
find_tool() {
	command -v "$1" && return 0
	for dir in /opt/mxdriver/bin /opt/maca/bin /usr/local/bin /usr/local/sbin /usr/local/Ascend/driver/tools; do
		[ -x "$dir/$1" ] && echo "$dir/$1" && return 0
	done
	return 1
}

# first_npu is the number of one card, from what info -l has printed.
first_npu() { sed -n 's/^[[:space:]]*NPU ID[[:space:]]*:[[:space:]]*\([0-9]\{1,3\}\)[[:space:]]*$/\1/p' "$folder"/*npu-smi-info-l.txt 2>/dev/null | sed -n 1p; }

setsid=$(command -v setsid || true)
hung=''
found=0
say "collect.sh on $(uname -srm), user id $(id -u)"
for tool in mx-smi ht-smi npu-smi hccn_tool; do
	path=$(find_tool "$tool") || {
		say "$tool: not found"
		continue
	}
	found=$((found + 1))
	say "$tool: $path"
	case $tool in
	npu-smi)
		ask "$path" info
		ask "$path" info -l
		ask "$path" info -m
		ask "$path" info -t topo
		for npu in $(first_npu); do
			for type in usages common ecc memory temp volt; do ask "$path" info -t "$type" -i "$npu"; done
			for type in hccs sensors pcie-err sio-info health; do ask "$path" info -t "$type" -i "$npu" -c 0; done
		done
		;;
	hccn_tool)
		for command in link link_stat stat speed net_health optical; do ask "$path" -i 0 "-$command" -g; done
		ask "$path" -g -dev_info -i 0
		;;
	*)
		ask "$path"
		ask "$path" -L
		ask "$path" topo -m
		ask "$path" topo -n
		for flag in count-ecc show-clk-tr show-temperature show-metaxlink-bandwidth show-pcie-slot; do ask "$path" "--$flag"; done
		for flag in show show-state show-peer show-traffic-stat show-aer; do ask "$path" mxlk "--$flag"; done
		for flag in show-bandwidth show-usage show-ras-count show-status show-clock; do ask "$path" eth "--$flag"; done
		for flag in show-status show-info show-rx-status; do ask "$path" om "--$flag"; done
		ask "$path" ras --show-count
		;;
	esac
done
if [ "$found" -eq 0 ]; then
	echo "No vendor's tool was found, so there is nothing to send." >&2
	exit 1
fi

tar -cf "$folder.tar" -C "$(dirname "$folder")" "$(basename "$folder")"
cat <<END

Wrote $folder and $folder.tar.
Masked: UUIDs, serial numbers, MAC and IP addresses, this host's name. Not masked: process
names, process ids, PCI addresses, versions. Read the files before you send them.
END
