package pace

import (
	"cmp"
	"fmt"
	"time"
)

const (
	maxGap    = time.Hour
	maxTokens = 1 << 20 // of one answer
)

// Config says how the server writes. A zero field stands for its default.
type Config struct {
	Model string // name that is served; default "pace"
	// Gap is the time between two chunks of a stream, up to an hour; default
	// 20 ms.
	Gap time.Duration
	// Tokens is how many chunks an answer has whose request does not bound them,
	// 1 to 1,048,576; default 256.
	Tokens int
	// Keep is how many requests the truth is kept of, the latest ones; default
	// 16384. Very long answers lower it: all of them keep at most 8,388,608
	// instants, 64 MiB.
	Keep int
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Model: "pace", Gap: 20 * time.Millisecond, Tokens: 256, Keep: 16384}
}

// filled is c with its defaults, checked.
func (c Config) filled() (Config, error) {
	d := DefaultConfig()
	c = Config{
		Model: cmp.Or(c.Model, d.Model), Gap: cmp.Or(c.Gap, d.Gap),
		Tokens: cmp.Or(c.Tokens, d.Tokens), Keep: cmp.Or(c.Keep, d.Keep),
	}
	switch {
	case c.Gap < 0 || c.Gap > maxGap:
		return c, fmt.Errorf("gap %v is outside 0 to %v", c.Gap, maxGap)
	case c.Tokens < 0 || c.Tokens > maxTokens:
		return c, fmt.Errorf("%d tokens are outside 1 to %d", c.Tokens, maxTokens)
	case c.Keep < 0:
		return c, fmt.Errorf("%d requests cannot be kept", c.Keep)
	}
	return c, nil
}
