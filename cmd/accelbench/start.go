package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// instant is a time as 2026-03-04T05:06:07Z.
type instant struct{ time.Time }

func (i *instant) String() string { return i.Format(time.RFC3339) }

func (i *instant) Set(text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is no time such as 2026-03-04T05:06:07Z", text)
	}
	i.Time = t
	return nil
}

// sleepUntil returns at start, which is when the machines of one load begin
// together, or when ctx ends. One that comes too late begins at once, and says
// so: the others already wait for nobody.
func sleepUntil(ctx context.Context, start time.Time, stderr io.Writer) {
	if start.IsZero() {
		return
	}
	left := time.Until(start)
	if left <= 0 {
		fmt.Fprintf(stderr, "accelbench: --start-at was %s ago: beginning at once\n", (-left).Round(time.Millisecond))
		return
	}
	fmt.Fprintf(stderr, "accelbench: beginning in %s\n", left.Round(time.Second))
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
