#!/bin/sh
# Collects what the vendors' tools print on this server, to be sent in as a capture. It runs
# reading commands only, each with a time limit, and masks serial numbers, UUIDs, MAC and IP
# addresses and the host's name.
set -eu

usage() {
	cat <<-'END'
		usage: collect.sh [-o FOLDER] [-t SECONDS]

		  -o FOLDER    new folder to write to (default: captures-DATE-TIME, here)
		  -t SECONDS   longest run of one command (default: 20); npu-smi info watch never
		               ends and gets 10 at most

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

# mask keeps the length of UUIDs and MAC addresses. A host's name is masked as a whole word
# only. It and an address in a cell are masked twice, since two may share a separator.
mask() {
	hex='[0-9A-Fa-f]'
	edge='[^[:alnum:]_-]'
	sed -E \
		-e "s/$hex{8}-$hex{4}-$hex{4}-$hex{4}-$hex{12}/xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx/g" \
		-e "s/(^|[^0-9A-Fa-f:])($hex{2}[:-]){5}$hex{2}([^0-9A-Fa-f:]|\$)/\\1xx:xx:xx:xx:xx:xx\\3/g" \
		-e 's/^([[:space:]]*([A-Za-z]* )*([Ss][Nn]|[Ss]erial|UUID|[A-Za-z]*[Dd]ie ID)[A-Za-z ]*: *)[^[:space:]].*/\1MASKED/' \
		-e 's/((: (Unique ID|Serial Number)|--> SN): *)[^[:space:]]+/\1MASKED/' \
		-e 's/(<(serial|uuid)>)[^<]*/\1MASKED/g' \
		-e "s/(^|$edge)(A[0-9A-Z]{3}[0-9A-Z]{9}|T[0-9A-Z]{3}[0-9]{8}|02K[0-9A-Z]{13})($edge|\$)/\\1MASKED\\3/g" \
		-e 's/("[^"]*([Ss]erial[^"]*|[Ss][Nn])" *: *)"[^"]*"/\1"MASKED"/g' \
		-e 's/(([Ii][Pp]|[Aa]ddr|[Gg]ateway|[Nn]etmask).*[^0-9.])([0-9]{1,3}\.){3}[0-9]{1,3}/\1x.x.x.x/' \
		-e 's/(\| *)([0-9]{1,3}\.){3}[0-9]{1,3} *(\|)/\1x.x.x.x \3/g' \
		-e 's/(\| *)([0-9]{1,3}\.){3}[0-9]{1,3} *(\|)/\1x.x.x.x \3/g' \
		-e "s/(^|[^[:alnum:]_:.])$hex{0,4}(:$hex{1,4})*::($hex{1,4}:)*$hex{0,4}([^[:alnum:]_:]|\$)/\\1x::x\\4/g" \
		-e "s/(^|[^[:alnum:]_:.])($hex{1,4}:){7}$hex{1,4}([^[:alnum:]_:]|\$)/\\1x::x\\3/g" \
		-e "s/(^|$edge)($fqdn|$short)($edge|\$)/\\1HOST\\3/g" \
		-e "s/(^|$edge)($fqdn|$short)($edge|\$)/\\1HOST\\3/g"
}

# stop ends a process and what it started, where setsid gave them a group.
stop() {
	kill -s TERM -- "-$1" 2>/dev/null || kill -s TERM "$1" 2>/dev/null || true
	sleep 1
	kill -s KILL -- "-$1" 2>/dev/null || kill -s KILL "$1" 2>/dev/null || true
}

# pause waits a tenth of a second, or a whole one where sleep knows no parts.
pause() {
	if sleep 0.1 2>/dev/null; then
		tenths=$((tenths + 1))
	else
		sleep 1
		tenths=$((tenths + 10))
	fi
}

# run asks one question, for some seconds at most, keeps the masked answer, and says in ended
# whether the tool did. It waits for a file, not for the process: one that sleeps in the
# driver cannot be waited for.
run() {
	seconds=$1
	program=$2
	shift 2
	name=$(printf '%s' "$(basename "$program") $*" | sed -e 's/ *$//' -e 's/[^[:alnum:]]\{1,\}/-/g' -e 's/-$//')
	: >"$raw.out" && : >"$raw.err" && rm -f "$raw.status"
	# shellcheck disable=SC2016,SC2086 # expanded by the inner shell; empty without setsid
	$setsid sh -c 'ulimit -f 2048; out=$1; shift; "$@" >"$out.out" 2>"$out.err"; echo $? >"$out.status"' \
		sh "$raw" "$program" "$@" </dev/null &
	pid=$!
	tenths=0
	while [ ! -s "$raw.status" ] && [ "$tenths" -lt "${seconds}0" ] && kill -0 "$pid" 2>/dev/null; do
		pause
	done
	ended=true
	if [ -s "$raw.status" ]; then
		status="exit status $(cat "$raw.status")"
	else
		status="no end within $seconds s"
		stop "$pid"
		ended=false
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
	run "$limit" "$@"
	$ended || {
		hung=$1
		say "  $1 is not asked again"
	}
}

# watch runs a command that never ends by itself, for a short time.
watch() {
	[ "$hung" != "$1" ] || return 0
	if [ "$limit" -lt 10 ]; then run "$limit" "$@"; else run 10 "$@"; fi
}

# find_tool looks for a tool on the PATH and where the drivers put it.
find_tool() {
	command -v "$1" && return 0
	for dir in /opt/mxdriver/bin /opt/maca/bin /usr/local/bin /usr/local/sbin /usr/local/Ascend/driver/tools /opt/hyhal/bin /usr/local/corex/bin /usr/local/xpu/bin /usr/sbin; do
		[ -x "$dir/$1" ] && echo "$dir/$1" && return 0
	done
	return 1
}

# first_gpu is the number of one card, from what -L has printed.
first_gpu() { sed -n 's/^[[:space:]]*GPU#\([0-9]\{1,3\}\)[[:space:]].*/\1/p' "$folder/$1-L.txt" 2>/dev/null | sed -n 1p; }

# first_npu is the number of one card, from what info -l has printed.
first_npu() { sed -n 's/^[[:space:]]*NPU ID[[:space:]]*:[[:space:]]*\([0-9]\{1,3\}\)[[:space:]]*$/\1/p' "$folder"/*npu-smi-info-l.txt 2>/dev/null | sed -n 1p; }

# first_port is by what hccn_tool knows one card's port: its first die's physical number, from
# what info -m has printed, else the card's own number, else 0.
first_port() {
	for map in "$folder"/*npu-smi-info-m.txt; do
		[ -r "$map" ] || continue
		awk -F '[ \t][ \t]+' '
			{ sub(/^[ \t]+/, "") }
			/Chip Phy-ID/ { for (i = 1; i <= NF; i++) if ($i == "Chip Phy-ID") column = i; next }
			column && $column ~ /^[0-9]+$/ { print $column; found = 1; exit }
			END { exit !found }
		' "$map" && return 0
	done
	npu=$(first_npu)
	echo "${npu:-0}"
}

# first_link is one port of an Ascend 950, as "-u DIE -p PORT", from what -dev_info has printed:
# one that is up, where there is one.
first_link() {
	for up in '.*| *UP *|.*' '.*'; do
		link=$(sed -n "s/^| *\([0-9]\{1,3\}\) *| *\([0-9]\{1,3\}\) *|$up\$/-u \1 -p \2/p" "$folder"/*hccn-tool-g-dev-info*.txt 2>/dev/null | sed -n 1p)
		[ -z "$link" ] || break
	done
	echo "$link"
}

setsid=$(command -v setsid || true)
hung=''
found=0
say "collect.sh on $(uname -srm), user id $(id -u)"
for tool in mx-smi ht-smi npu-smi hccn_tool nvidia-smi hy-smi ixsmi xpu_smi xpu-smi mthreads-gmi efsmi; do
	path=$(find_tool "$tool") || {
		say "$tool: not found"
		continue
	}
	# One program under two names.
	[ "$tool" != xpu-smi ] || ! find_tool xpu_smi >/dev/null || continue
	found=$((found + 1))
	say "$tool: $path"
	case $tool in
	npu-smi)
		ask "$path" info
		ask "$path" info -l
		ask "$path" info -m
		ask "$path" info -t topo
		for npu in $(first_npu); do
			for type in usages common ecc ecc-enable memory temp volt board; do ask "$path" info -t "$type" -i "$npu"; done
			for type in hccs xlink sensors pcie-err sio-info health current-fault-event; do
				ask "$path" info -t "$type" -i "$npu" -c 0
				ask "$path" info -t "$type" -i "$npu" # Ascend 950 refuses -c
			done
		done
		watch "$path" info watch
		;;
	hccn_tool)
		port=$(first_port)
		for command in link link_stat stat speed net_health optical; do ask "$path" -i "$port" "-$command" -g; done
		npu=$(first_npu)
		ask "$path" -g -dev_info -i "${npu:-0}" # Ascend 950, as all below
		link=$(first_link)
		[ -z "$link" ] || for command in link link_stat stat speed optical; do
			# shellcheck disable=SC2086 # several words
			ask "$path" -g "-$command" -i "${npu:-0}" $link
		done
		;;
	nvidia-smi)
		for flag in -L --version --help-query-gpu; do ask "$path" "$flag"; done
		ask "$path" topo -m
		ask "$path" --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory --format=csv
		ask "$path" --query-gpu=index,uuid,pci.bus_id,name,utilization.gpu,power.draw,enforced.power.limit,temperature.gpu,memory.total,memory.used --format=csv
		;;
	hy-smi)
		ask "$path"
		ask "$path" --showmeminfo vram
		ask "$path" --showrasinfo all
		ask "$path" --healthcheck
		for flag in pids productname bus uniqueid driverversion topo temp power clocks; do ask "$path" "--show$flag"; done
		;;
	ixsmi)
		ask "$path"
		ask "$path" -L
		ask "$path" -q -x
		ask "$path" topo -m
		for power in gpu.power.draw,gpu.current.power.limit power.draw,power.limit; do
			ask "$path" "--query-gpu=index,uuid,pci.bus_id,name,$power,ecc.mode.current" --format=csv
		done
		;;
	xpu_smi | xpu-smi)
		ask "$path" # Intel's tool of that name, too: it is told by what it prints
		for flag in -L -m -q; do ask "$path" "$flag"; done
		ask "$path" -q -x
		ask "$path" topo -m
		;;
	mthreads-gmi)
		ask "$path"
		ask "$path" --query
		ask "$path" --query --json
		ask "$path" topo -m
		ask "$path" mtlink -s
		;;
	efsmi)
		ask "$path"
		for flag in -L -q; do ask "$path" "$flag"; done
		ask "$path" topo -m
		;;
	*)
		ask "$path"
		ask "$path" -L
		ask "$path" -s
		ask "$path" -j
		ask "$path" topo -m
		ask "$path" topo -n
		ask "$path" --count-ecc --show-ecc-state --show-clk-tr --show-pcie --show-pcie-bandwidth --show-hbm-bandwidth
		for flag in count-ecc show-ecc-state show-clk-tr show-pcie show-pcie-bandwidth show-hbm-bandwidth; do ask "$path" "--$flag"; done
		for flag in show-temperature show-metaxlink-bandwidth show-pcie-slot; do ask "$path" "--$flag"; done
		for flag in show show-state show-peer show-traffic-stat show-aer; do ask "$path" mxlk "--$flag"; done
		for flag in show-bandwidth show-usage show-ras-count show-status show-clock; do ask "$path" eth "--$flag"; done
		for flag in show-status show-info show-rx-status; do ask "$path" om "--$flag"; done
		ask "$path" ras --show-count
		for gpu in $(first_gpu "$tool"); do ask "$path" ras --show-status -i "$gpu"; done
		ask "$path" misc --show-critical-event
		ask "$path" misc --show-pcie-event --detail
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
