package fakevllm

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// A server far from its cards takes longer for each token by its penalty, and again as
// long as before when it is moved back.
func TestPenalty(t *testing.T) {
	took := func(t *testing.T, e *engine) time.Duration {
		t.Helper()
		began := time.Now()
		q := newSequence(1, 50, finishStop)
		if err := e.submit(q); err != nil {
			t.Fatal(err)
		}
		<-q.done
		return time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		e := startEngine(t, Config{})
		s := &Server{engine: e}
		near := took(t, e)
		s.SetPenalty(1.2)
		if ratio := took(t, e).Seconds() / near.Seconds(); math.Abs(ratio-1.2) > 0.001 {
			t.Errorf("an answer takes %.3f times as long, want 1.2", ratio)
		}
		s.SetPenalty(1)
		if again := took(t, e); again != near {
			t.Errorf("moved back it takes %v, before %v", again, near)
		}
	})
}
