#!/bin/busybox sh
# shellcheck shell=dash
# Process 1 of the guest: starts processes with known places, and prints between
# marks what the kernel's own tools and the exporter tell.
/bin/busybox --install -s /bin
export PATH=/bin FAKEHOST_STATE=/state
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up

# page waits for one that was read after now, and prints what is of nodes and processes.
# $1: processes that must be on it.
page() {
	since=$(date +%s)
	for _ in $(seq 60); do
		wget -q -O /run/page http://127.0.0.1:10068/metrics 2>/dev/null
		at=$(sed -n 's/^accelerator_collector_last_success_timestamp_seconds{collector="numa"} //p' /run/page | awk '{printf "%d", $1}')
		n=$(grep -c '^accelerator_process_cpus_info' /run/page)
		m=$(grep -c '^accelerator_process_node_memory_bytes' /run/page)
		if [ "${at:-0}" -gt $((since + 2)) ] && [ "$n" -ge "$1" ] && [ "$m" -ge "$1" ]; then
			break
		fi
		sleep 0.2
	done
	grep -E '^accelerator_(numa_|process_|collector_(success|failures))' /run/page
}

numactl -N0 -m0 sleep 1000 &
right=$!
numactl -N1 -m1 sleep 1000 &
wrong=$!
sleep 1000 &
unbound=$!
# As a container runtime confines one, by a CPU set.
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/container
echo 1,3-4 >/sys/fs/cgroup/container/cpuset.cpus
echo 1 >/sys/fs/cgroup/container/cpuset.mems
sh -c 'echo $$ >/sys/fs/cgroup/container/cgroup.procs; exec sleep 1000' &
container=$!
sleep 1

: >/run/page
mkdir -p /state
for pid in $right $wrong $unbound $container 4194000; do
	echo "0 $pid sleep 1000"
done >/state/mx-smi.processes
accelerator_exporter --web.listen-address=127.0.0.1:10068 --collector.metax.command=/bin/mx-smi --collector.detail=off --collector.environment=FAKEHOST_STATE \
	--collector.interval=3s --collector.numa-maps --log.level=warn >/run/log 2>&1 &

echo "=== pids"
echo "right $right wrong $wrong unbound $unbound container $container"
page 4 >/dev/null # everything has started
echo "=== hardware"
numactl --hardware
echo "=== numastat"
numastat
echo "=== page"
page 4
echo "=== numastat after"
numastat
echo "=== hardware after"
numactl --hardware
for pid in $right $wrong; do
	echo "=== memory of $pid"
	numastat -p "$pid"
done
echo "=== page without CPU 1"
echo 0 >/sys/devices/system/cpu/cpu1/online
page 4
echo "=== log"
cat /run/log
echo "=== end"
poweroff -f
