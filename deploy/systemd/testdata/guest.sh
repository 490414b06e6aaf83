# Runs in a virtual machine whose first process is systemd: installs the service
# by the lines of README.md, and looks at it. /install.sh holds those lines.

check() { # check NAME COMMAND...
	name=$1
	shift
	if "$@" >/tmp/out 2>&1; then
		echo "ok: $name"
	else
		echo "not ok: $name"
		cat /tmp/out
		journalctl --no-pager --quiet -o cat -u accelerator_exporter | tail -20
	fi
}

# page TEXT: the metrics hold the text in time; the machine is emulated, and slow.
page() {
	for _ in $(seq 40); do
		curl -s -m 10 http://127.0.0.1:10068/metrics >/tmp/page && grep -F "$1" /tmp/page && return
		sleep 1
	done
	grep -E '^accelerator_(devices|collector|probe)' /tmp/page
	return 1
}

flags() { # flags ARGS: into the environment file
	printf 'FAKEHOST_STATE=/run/fakehost\nARGS="%s"\n' "$1" >/etc/default/accelerator_exporter
}

restart() { systemctl daemon-reload && systemctl restart accelerator_exporter; }
dropin() {
	install -D -m 644 "/repository/deploy/systemd/$1" "/etc/systemd/system/accelerator_exporter.service.d/$1"
	restart
}
undrop() { rm "/etc/systemd/system/accelerator_exporter.service.d/$1"; }
status() { grep -E "$1" "/proc/$(systemctl show -p MainPID --value accelerator_exporter)/status"; }
number() { awk -v name="$1" '$2 == name {print $1}' /proc/misc; }

# The drivers' device files: others' numbers, which exist here, with the drivers' names and owners.
mknod /dev/davinci_manager c 10 "$(number vga_arbiter)"
chown root:HwHiAiUser /dev/davinci_manager
mknod /dev/mxcd c 10 "$(number userfaultfd)"
chown root:video /dev/mxcd
chmod 660 /dev/davinci_manager /dev/mxcd
mknod /dev/forbidden c 10 "$(number cpu_dma_latency)"
chmod 666 /dev/forbidden

cd /repository || exit
check "install as README.md says" sh -ex /install.sh
systemctl is-active --quiet accelerator_exporter || exit

check "Ascend: group, library path, device" page 'accelerator_devices{vendor="ascend"} 8'
check "MetaX: path, group, device" page 'accelerator_devices{vendor="metax"} 8'
check "NUMA nodes" page 'accelerator_collector_success{collector="numa"} 1'
check "no warnings" page 'accelerator_parse_warnings_total{collector="ascend"} 0'
check "its own user" status '^Uid:[[:space:]]+[1-9]'
check "no capabilities" status '^CapBnd:[[:space:]]+0+$'
check "no new privileges" status '^NoNewPrivs:[[:space:]]+1$'
check "filter of calls" status '^Seccomp:[[:space:]]+2$'
cgroup=/sys/fs/cgroup/system.slice/accelerator_exporter.service
check "bound on memory" grep -x 268435456 $cgroup/memory.max
check "bound on tasks" grep -x 256 $cgroup/pids.max
check "no core dumps" grep -E 'Max core file size +0 +0' "/proc/$(systemctl show -p MainPID --value accelerator_exporter)/limits"
check "reload" systemctl reload accelerator_exporter
check "still there" systemctl is-active accelerator_exporter
check "stop" timeout 10 systemctl stop accelerator_exporter
check "clean end" test "$(systemctl show -p Result --value accelerator_exporter)" = success

flags --no-such-flag
systemctl start accelerator_exporter
sleep 10
check "wrong flags: not started again and again" test "$(systemctl show -p ActiveState,NRestarts --value accelerator_exporter | tr '\n' ' ')" = "0 failed "
systemctl reset-failed accelerator_exporter

# A driver that answers only root.
touch /run/only-root
flags ''
restart
check "only root: refused" page 'accelerator_collector_failures_total{collector="ascend",reason="permission"} 1'
dropin root.conf
check "only root: root.conf" page 'accelerator_devices{vendor="ascend"} 8'
check "only root: one capability" status '^CapEff:[[:space:]]+0000000000000002$'
undrop root.conf
rm /run/only-root

# Secrets that root alone can read.
mkdir -p /etc/accelerator_exporter
echo secret >/etc/accelerator_exporter/api-key
echo 'http_server_config: {headers: {X-Frame-Options: deny}}' >/etc/accelerator_exporter/web.yml
chmod 600 /etc/accelerator_exporter/*
mkdir -p /run/fakehost
FAKEHOST_STATE=/run/fakehost /repository/bin/fakehost vllm --api-key-file=/etc/accelerator_exporter/api-key --background-users=4 >/dev/null 2>&1 &
flags "$(sed -n 's/^#   ARGS="//p; s/^#   --\(.*[^"]\)"*$/--\1/p' /repository/deploy/systemd/credentials.conf | tr -d '\\"\n') --probe.interval=2s --probe.max-tokens=2"
dropin credentials.conf
check "credentials: key" page 'accelerator_probe_success{model="qwen2.5",target="127.0.0.1:8000"} 1'
check "credentials: web" sh -c 'curl -si http://127.0.0.1:10068/ | grep -i x-frame-options:.deny'
undrop credentials.conf

# The server's process is root's: its files are hidden from the exporter, as is its load.
flags "--probe.target=http://127.0.0.1:8000 --collector.environment=FAKEHOST_STATE --collector.interval=2s --collector.metax.command=/repository/bin/fake/mx-smi"
restart
check "find cards: not without rights" page 'accelerator_devices{vendor="metax"} 8'
check "find cards: none found" sh -c '! grep accelerator_probe_target_device_info{ /tmp/page'
dropin find-cards.conf
check "find cards" page 'accelerator_probe_target_device_info{device="0",target="127.0.0.1:8000",vendor="metax"} 1'
undrop find-cards.conf

# The port is systemd's.
install -m 644 /repository/deploy/systemd/accelerator_exporter.socket /etc/systemd/system/
flags --web.systemd-socket
systemctl daemon-reload
systemctl stop accelerator_exporter
check "socket" systemctl enable --now accelerator_exporter.socket accelerator_exporter
check "socket: served" page 'accelerator_collector_success{collector="numa"} 1'
check "socket: active" systemctl is-active accelerator_exporter.socket
echo "end of checks"
