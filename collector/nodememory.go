package collector

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/container"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	// maxMapsTime is how long the memory of one process is waited for.
	maxMapsTime = time.Second
	// maxHanging is how many readers may hang: the kernel has a reader of numa_maps wait,
	// without end and whatever we do, for a process whose memory management hangs.
	maxHanging = 4
)

// heldMemory is what a process holds on one node.
type heldMemory struct {
	container.Listed
	node  int
	bytes int64
}

// nodeMemory reads on which nodes the memory of the processes on cards lies. It is of the
// goroutine that polls.
type nodeMemory struct {
	procfs process.FS
	cards  func() []cards
	listed func() []container.Listed
	most   time.Duration // for all processes together
	// look reads one process's memory by node, in bytes.
	look func(ctx context.Context, pid string) (map[int]int64, error)

	held     []heldMemory   // of the last reading
	warnings model.Warnings // of the same
	hanging  map[string]<-chan struct{}
}

// newNodeMemory prepares the readings of the processes on a collector's cards.
func newNodeMemory(c *Collector, o Options) *nodeMemory {
	procfs := process.FS(o.Procfs)
	return &nodeMemory{
		procfs: procfs,
		cards:  func() []cards { return c.cards },
		listed: c.listed,
		most:   min(o.Interval/2, o.Timeout),
		look: func(ctx context.Context, pid string) (map[int]int64, error) {
			return ofProcess(procfs, pid, func(n int) (map[int]int64, error) { return readMaps(ctx, procfs, n) })
		},
	}
}

// await waits, before the first reading, until the vendors' tables have been read.
func (m *nodeMemory) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.most)
	defer cancel()
	for _, v := range m.cards() {
		select {
		case <-v.poller.first:
		case <-ctx.Done():
			return
		}
	}
}

// read looks at one process after the other, until the time is used up.
func (m *nodeMemory) read(ctx context.Context) {
	m.await(ctx)
	ctx, cancel := context.WithTimeout(ctx, m.most)
	defer cancel()
	m.held, m.warnings = nil, model.Warnings{}
	maps.DeleteFunc(m.hanging, func(_ string, done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	listed := m.listed()
	if len(listed) == 0 {
		return
	}
	if err := m.procfs.CheckHostPIDs(); err != nil {
		m.warnings.Add("the memory of the processes by node is not known: %v", err)
		return
	}
	for i, p := range listed {
		if ctx.Err() != nil {
			m.warnings.Add("the memory of %d of %d processes by node is not known: the others took all of %v", len(listed)-i, len(listed), m.most)
			return
		}
		byNode, err := m.ask(ctx, p.PID)
		switch {
		case errors.Is(err, errEnded): // as processes do
		case err != nil:
			m.warnings.Add("the memory of process %s by node is not known: %v", p.PID, err)
		}
		for _, node := range slices.Sorted(maps.Keys(byNode)) {
			if byNode[node] > 0 {
				m.held = append(m.held, heldMemory{p, node, byNode[node]})
			}
		}
	}
}

// ask reads one process's numa_maps, and stops waiting for it in time: the reader is a
// goroutine of its own, which ends when the kernel answers.
func (m *nodeMemory) ask(ctx context.Context, pid string) (byNode map[int]int64, err error) {
	switch {
	case m.hanging[pid] != nil:
		return nil, errors.New("the kernel has not answered an earlier question")
	case len(m.hanging) >= maxHanging:
		return nil, errors.New("the kernel does not answer about other processes")
	}
	ctx, cancel := context.WithTimeout(ctx, maxMapsTime)
	defer cancel()
	done := make(chan struct{})
	var told map[int]int64
	var failed error
	go func() {
		defer close(done)
		told, failed = m.look(ctx, pid)
	}()
	select {
	case <-done:
		return told, failed
	case <-ctx.Done():
		if m.hanging == nil {
			m.hanging = map[string]<-chan struct{}{}
		}
		m.hanging[pid] = done
		return nil, errors.New("the kernel does not answer in time")
	}
}

func readMaps(ctx context.Context, procfs process.FS, pid int) (map[int]int64, error) {
	f, err := procfs.Open(pid, "numa_maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return numa.SumMaps(timedReader{ctx, f})
}

// timedReader ends a reading of many parts when its time is over.
type timedReader struct {
	ctx  context.Context
	file io.Reader
}

func (r timedReader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, errors.New("it takes too long")
	}
	return r.file.Read(into)
}
