package process

import (
	"os"
	"sync"
)

// Subreaper starts programs. On Linux it makes us the parent of every descendant that
// loses its own, for good, so that a daemon, which is in a session of its own and
// descends from nobody that is known, ends with the program that made it. One serves
// all programs that run at the same time; what else we start is left alone as long as
// it is in our own session. Make it with NewSubreaper.
type Subreaper struct {
	cgroup string // folder of our own cgroup v2, "" where there is none

	mu    sync.Mutex
	trees map[*Tree]bool // those that were started, or are being, and are not over
}

// NewSubreaper makes us adopt orphans. Where the kernel does not let us, daemons are
// not found.
func NewSubreaper() *Subreaper {
	adoptOrphans()
	return &Subreaper{cgroup: ownCgroup(), trees: map[*Tree]bool{}}
}

// Start starts a program in the background, in a session of its own, so that it has
// no terminal, and with nothing to read. Where we may make one, it gets a cgroup of
// its own too. On Linux the program itself, but nothing that it started, gets SIGTERM
// when we die.
func (s *Subreaper) Start(c Command) *Tree {
	t := &Tree{
		command: c, subreaper: s, started: make(chan struct{}), exited: make(chan struct{}), over: make(chan struct{}),
		exit: Exit{Code: -1},
	}
	go t.run()
	return t
}

// admit adds a tree that is about to start, and reports false where a signal came first.
func (s *Subreaper) admit(t *Tree) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.signaled {
		s.trees[t] = true
	}
	return !t.signaled
}

// members are those of all that are in the tree, the leader apart: what descends from
// it, or from an orphan that is the tree's. Under mu.
func (s *Subreaper) members(t *Tree, all []Stat) []Stat {
	self := statOf(all, os.Getpid())
	in := map[int]bool{}
	for _, st := range all {
		if st.Parent == self.PID && (s.leads(t, st.PID) || s.owns(t, st, self.Session)) {
			in[st.PID] = true
		}
	}
	AddDescendants(in, all)
	var found []Stat
	for _, st := range all {
		if in[st.PID] && st.PID != self.PID && !s.leads(t, st.PID) {
			found = append(found, st)
		}
	}
	return found
}

// leads reports whether the process of that number is the leader of the tree.
func (*Subreaper) leads(t *Tree, pid int) bool { return t.pid == pid && !t.reaped }

// owns reports whether a child of ours is an orphan of the tree: known as such, by its
// group or session, or else started since the tree was and by no other that may still
// start something. Where two can have started it, the last of them to end has it.
func (s *Subreaper) owns(t *Tree, st Stat, session int) bool {
	if st.Session == session || st.Start < t.begin {
		return false // our own, or somebody's from before us
	}
	if t.marks(st) {
		return true
	}
	for other := range s.trees {
		if other != t && (other.marks(st) || s.leads(other, st.PID) || !other.killed && other.begin <= st.Start) {
			return false
		}
	}
	return true
}

// marks reports whether it shows that the process is one of the tree's.
func (t *Tree) marks(st Stat) bool {
	_, known := t.known[Process{st.PID, st.Start}]
	return known || t.pid > 0 && (st.Group == t.pid || st.Session == t.pid)
}

// isLeader reports whether the process of that number is one that we wait for, or may
// be: one that is being started has no number yet.
func (s *Subreaper) isLeader(pid int) bool {
	for t := range s.trees {
		if t.pid == 0 || s.leads(t, pid) {
			return true
		}
	}
	return false
}

func statOf(all []Stat, pid int) Stat {
	for _, st := range all {
		if st.PID == pid {
			return st
		}
	}
	return Stat{PID: pid}
}
