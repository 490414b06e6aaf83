//go:build unix && !linux

package process

import "time"

// Began returns when the process began: not known.
func (s Stat) Began() time.Time { return time.Time{} }
