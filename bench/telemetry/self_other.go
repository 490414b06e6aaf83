//go:build !unix

package telemetry

import "time"

func cpuTime() (time.Duration, bool) { return 0, false }
