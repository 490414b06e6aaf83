#!/bin/sh
# A load test as a CI job: it fails where an objective is missed, and where the server has become worse than the
# runs of the main branch in $BASELINE, each of a start of the server of its own. Too few of them to tell do not pass: one
# run against 40, or five in $RESULTS against five.
set -eu
results=${RESULTS:-results}
accelbench run --base-url "$URL" --dataset-path "$PROMPTS" --num-prompts "${REQUESTS:-500}" --max-concurrency 8 --quiet \
	--slo "ttft:p90<${TTFT:-2s}" --slo "tpot:p90<${TPOT:-100ms}" --slo 'failures<1%' --output "$results"
if [ -n "${BASELINE:-}" ]; then
	accelbench compare --fail-on 'ttft:p90>10%' --fail-on 'tpot:p90>5%' --fail-on 'failures>0.5%' "$BASELINE" "$results"
fi
