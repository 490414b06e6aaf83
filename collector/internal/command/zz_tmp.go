package command

import "context"

func (r *Runner) RunUntil(ctx context.Context, _ func([]byte) bool, args ...string) (Output, error) {
	return r.Run(ctx, args...)
}
