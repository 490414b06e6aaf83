#!/bin/sh
# Makes the user, and restarts a service that runs. A new one is neither enabled
# nor started: its flags come first.
set -e
case "$1" in abort-*) exit 0 ;; esac # dpkg: what was there before stays
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers accelerator_exporter.conf
elif ! id accelerator_exporter >/dev/null 2>&1; then # Alpine
	addgroup -S accelerator_exporter
	adduser -S -D -H -s /sbin/nologin -G accelerator_exporter accelerator_exporter
	addgroup accelerator_exporter video
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart accelerator_exporter.service || true
fi
