package load

import (
	"iter"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// maxBacklog is how many requests of a replay are held while they wait: each holds
// its prompt, and a replay may be longer than memory.
const maxBacklog = 1024

// announced is how many requests may be due before they are looked at.
const announced = 64

// arrival is a request that is due.
type arrival struct {
	at     time.Duration   // since the start
	prompt *dataset.Prompt // nil until it is taken
}

// openLoop sends each request when it is due. One goroutine keeps the time and
// does nothing else; another gives due requests a place and a prompt.
func (s *run) openLoop(seed uint64) {
	due := make(chan arrival, announced)
	var clock, requests sync.WaitGroup
	d := dispatcher{run: s, requests: &requests}
	clock.Go(func() {
		defer close(due)
		d.timeUp = s.announce(due, s.schedule(seed))
	})
	d.dispatch(due)
	clock.Wait()
	requests.Wait()
}

// schedule yields when requests are due; a replay's come with their prompts.
func (s *run) schedule(seed uint64) iter.Seq[arrival] {
	return func(yield func(arrival) bool) {
		if s.step.Arrival != runlog.ArrivalReplay {
			for at := range offsets(s.step, seed) {
				if !yield(arrival{at: at}) {
					return
				}
			}
			return
		}
		for {
			i, ok := s.feed.next(s.sending)
			if !ok || !yield(arrival{i.prompt.At, &i.prompt}) {
				return
			}
		}
	}
}

// announce tells of each request when it is due, and reports whether the time of the
// step ended it. When the sending ends it tells of those that were due by then, and
// of none after.
func (s *run) announce(due chan<- arrival, schedule iter.Seq[arrival]) (timeUp bool) {
	timer := newFineTimer()
	defer timer.close()
	var ended time.Time
	for a := range schedule {
		if s.step.Duration > 0 && a.at >= s.step.Duration {
			sleepUntil(s.sending, s.start.Add(s.step.Duration))
			return true
		}
		at := s.start.Add(a.at)
		sleepUntil(s.sending, at.Add(-timerError))
		if s.sending.Err() == nil {
			timer.until(at)
		} else if ended.IsZero() {
			ended = time.Now()
		}
		if !ended.IsZero() && at.After(ended) {
			return false
		}
		due <- a
	}
	return false
}

// dispatcher sends requests that are due, in their order.
type dispatcher struct {
	*run
	requests *sync.WaitGroup
	waiting  []arrival
	head     int       // Seq of the first of them
	placed   bool      // the first has its place under the bound
	refused  bool      // it has none yet because all are taken
	full     time.Time // until when all were
	timeUp   bool      // the time ended the arrivals; to be read when they are closed
}

// dispatch returns when all that was announced was sent or withdrawn. It is the
// last to send, so it ends the sending where no number of requests does.
func (d *dispatcher) dispatch(due <-chan arrival) {
	in := due
	for in != nil || len(d.waiting) > 0 {
		if d.sending.Err() != nil {
			d.withdrawAll(due)
			return
		}
		if d.ready() {
			d.launch()
			continue
		}
		slots, items := d.wants()
		select {
		case a, ok := <-d.room(in):
			if !ok {
				in = nil
				continue
			}
			d.push(a)
		case slots <- struct{}{}:
			d.place()
		case i, ok := <-items:
			if !ok {
				d.exhausted()
				continue
			}
			d.waiting[0].prompt = &i.prompt
		case <-d.sending.Done():
		}
	}
	switch {
	case d.timeUp:
		d.stopSending(errDuration)
	case d.step.Arrival == runlog.ArrivalReplay && d.sending.Err() == nil:
		d.exhausted()
	}
}

// room is in while more may wait, else nil.
func (d *dispatcher) room(in <-chan arrival) <-chan arrival {
	if d.step.Arrival == runlog.ArrivalReplay && len(d.waiting) >= maxBacklog {
		return nil
	}
	return in
}

func (d *dispatcher) push(a arrival) {
	d.waiting = append(d.waiting, a)
	d.account.attempt()
	d.meter.Queued.Add(1)
}

// ready reports whether the first request that waits can be sent.
func (d *dispatcher) ready() bool {
	if len(d.waiting) == 0 {
		return false
	}
	switch {
	case d.placed:
	case d.slots == nil:
		d.placed = true
	default:
		select {
		case d.slots <- struct{}{}:
			d.place()
		default:
			d.refused = true
		}
	}
	return d.placed && d.waiting[0].prompt != nil
}

// place notes that the first request has its place.
func (d *dispatcher) place() {
	if d.refused {
		d.full = time.Now()
	}
	d.placed, d.refused = true, false
}

// wants is where the first request that waits gets what it lacks: its place, then
// its prompt, so that a long queue holds no prompts.
func (d *dispatcher) wants() (chan<- struct{}, <-chan item) {
	switch {
	case len(d.waiting) == 0:
		return nil, nil
	case !d.placed:
		return d.slots, nil
	}
	return nil, d.feed.items
}

// pop takes out the first request that waits.
func (d *dispatcher) pop() (seq int, a arrival) {
	seq, a = d.head, d.waiting[0]
	d.waiting[0] = arrival{} // lets go of the prompt
	d.waiting = d.waiting[1:]
	d.head++
	d.placed = false
	d.meter.Queued.Add(-1)
	return seq, a
}

// job is the request of an arrival; its prompt may be none.
func (d *dispatcher) job(seq int, a arrival) Job {
	j := Job{Seq: seq, Planned: d.start.Add(a.at)}
	if a.prompt != nil {
		j.Prompt = *a.prompt
	}
	return j
}

func (d *dispatcher) launch() {
	seq, a := d.pop()
	queued := max(0, d.full.Sub(d.start.Add(a.at)))
	d.requests.Go(func() { d.request(d.job(seq, a), queued) })
}

// withdrawAll withdraws all that waits and all that is still announced.
func (d *dispatcher) withdrawAll(due <-chan arrival) {
	for {
		for len(d.waiting) > 0 {
			d.unsent(d.job(d.pop()))
		}
		a, ok := <-due
		if !ok {
			return
		}
		d.push(a)
	}
}
