#!/bin/sh
# Runs the exporter against stand-ins until it is interrupted, and leaves nothing
# behind: no process, no file.
set -eu

bin=$(cd "$1" && pwd)
vllm=127.0.0.1:${DEMO_VLLM_PORT:-18000}
web=127.0.0.1:${DEMO_WEB_PORT:-10068}

FAKEHOST_STATE=$(mktemp -d)
export FAKEHOST_STATE
server='' exporter='' first=''

# shellcheck disable=SC2317 # the traps call it
end() {
	trap '' INT TERM HUP
	for pid in $exporter $server; do kill -TERM "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$FAKEHOST_STATE"
}
trap end EXIT
trap 'exit 0' INT TERM HUP

# The exporter finds the tools of these vendors, and no real ones.
mkdir "$FAKEHOST_STATE/tools"
for vendor in ${DEMO_VENDORS:-metax ascend}; do
	case $vendor in
	metax) tools=mx-smi ;;
	ascend) tools='npu-smi hccn_tool' ;;
	hygon) tools=hy-smi ;;
	nvidia) tools=nvidia-smi ;;
	iluvatar) tools=ixsmi ;;
	kunlunxin) tools=xpu_smi ;;
	moorethreads) tools=mthreads-gmi ;;
	enflame) tools=efsmi ;;
	*)
		echo "DEMO_VENDORS: no vendor $vendor: metax, ascend, hygon, nvidia, iluvatar, kunlunxin, moorethreads or enflame" >&2
		exit 2
		;;
	esac
	first=${first:-${tools%% *}}
	for tool in $tools; do ln -s "$bin/fakehost" "$FAKEHOST_STATE/tools/$tool"; done
done

# Users come and go in a slow wave, so that load and latency move together.
"$bin/fakehost" vllm --listen-address="$vllm" --speed=8 --background-users=40 --background-period=2m &
server=$!

PATH="$FAKEHOST_STATE/tools" "$bin/accelerator_exporter" \
	--web.listen-address="$web" \
	--collector.environment=FAKEHOST_STATE \
	--collector.interval=2s --collector.inventory-interval=30s \
	--probe.target="http://$vllm" --probe.interval=2s --probe.timeout=30s --probe.max-tokens=32 \
	--log.level=info &
exporter=$!

echo "Metrics: http://$web/metrics    State: http://$web/    Ctrl-C ends it."
echo "To make card 0 hot: echo 0 hot 112 >$FAKEHOST_STATE/$first.card"
echo "To end it: : >$FAKEHOST_STATE/$first.card"
echo "More faults: bin/fakehost --help"

# Whichever ends first ends the other.
while kill -0 "$server" 2>/dev/null && kill -0 "$exporter" 2>/dev/null; do
	sleep 1 &
	wait $! || true
done
echo "A program of the demo ended; see above. If a port is taken: DEMO_WEB_PORT=… DEMO_VLLM_PORT=… make run" >&2
exit 1
