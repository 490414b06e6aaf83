package collector

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// commands is how the last run of each command of a collector went.
type commands struct {
	mu   sync.Mutex
	last map[string]commandRun
}

type commandRun struct {
	command  string
	duration time.Duration
	success  bool
}

func (c *commands) ran(command string, duration time.Duration, success bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = map[string]commandRun{}
	}
	c.last[command] = commandRun{command, duration, success}
}

// all returns a run of each command that has run, in no order.
func (c *commands) all() []commandRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.last))
}
