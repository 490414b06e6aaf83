#!/bin/sh
# Stops the service before its program goes, unless another version comes: dpkg then says
# upgrade, and rpm 1, the number of versions that stay. The user stays: it may own files.
case "$1" in upgrade | failed-upgrade | deconfigure | 1) exit 0 ;; esac
if command -v systemctl >/dev/null; then
	systemctl disable --quiet accelerator_exporter.service accelerator_exporter.socket || true
	[ ! -d /run/systemd/system ] || systemctl stop accelerator_exporter.service accelerator_exporter.socket || true
fi
