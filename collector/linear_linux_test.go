package collector

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// answerText is a text that a command's parser takes, and the cards that it is about.
type answerText struct {
	text  []byte
	cards []model.Device
}

// A tool that prints its answer again and again must not take the processor from the model server beside it: four times the
// text takes four times the time and not sixteen, of every command of every vendor.
func TestParsingTakesTimeByLength(t *testing.T) {
	sets := [][]model.Device{
		devs(t, "0 0000:08:00.0,1 0000:09:00.0"), devs(t, "5 5.0 hbm"), devs(t, "0 0.0 hbm,1 0.1 hbm"), devs(t, "9 9 hbm"),
		{{ID: "0"}},
		{{ID: "0", UUID: "GPU-4f0c0000-11aa-4c3e-8f21-0d3c5b7a9e00"}},
		{{ID: "0", BusID: "00000000:0C:00.0"}},
	}
	for _, v := range Vendors() {
		var answers []answerText
		for _, file := range slices.Concat(
			modeltest.Glob(t, filepath.Join(v.Name, "testdata", "*.txt")), modeltest.Glob(t, filepath.Join(fixtures, v.Name+"-*.txt"))) {
			for _, cards := range sets {
				answers = append(answers, answerText{modeltest.Read(t, file), cards})
			}
		}
		slices.SortStableFunc(answers, func(a, b answerText) int { return len(b.text) - len(a.text) })
		commands, known := slices.Concat([]model.Command{v.Table}, v.Commands), map[string]bool{}
		for i := 0; i < len(commands); i++ {
			c := commands[i]
			name := fmt.Sprint(v.Name, " ", c.Name, " ", c.Part)
			if known[name] {
				continue
			}
			known[name] = true
			longest := longestAnswer(c, answers)
			if len(longest.text) == 0 {
				t.Errorf("%s: no fixture is an answer", name)
				continue
			}
			if c.More != nil {
				commands = append(commands, c.More(longest.text, longest.cards[0])...)
			}
			holdToLength(t, name, c, longest)
			if c.Name == "hccn_optical" { // each flag is about the lanes that have a power
				holdToLength(t, name, c, answerText{[]byte("rx los flag : 0x1\nrx power0 : 1 mW\n"), longest.cards})
			}
		}
	}
}

// longestAnswer is the first of answers to the command, which has no text where there is none.
func longestAnswer(c model.Command, answers []answerText) answerText {
	for _, a := range answers {
		if _, err := c.Parse(a.text, a.cards); err == nil && len(a.text) > 0 {
			return a
		}
	}
	return answerText{}
}

// holdToLength compares the least CPU times of several runs, which a machine that does other things beside has longer too.
func holdToLength(t *testing.T, name string, c model.Command, a answerText) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const size, patience = 64 << 10, 5 * time.Second
	once := bytes.Repeat(a.text, size/len(a.text)+1)
	fourTimes := bytes.Repeat(once, 4)
	least := func(before time.Duration, text []byte) time.Duration {
		begin := threadTime(t)
		_, _ = c.Parse(text, a.cards)
		return min(before, threadTime(t)-begin)
	}
	short, long := time.Hour, time.Hour
	for begin := threadTime(t); threadTime(t)-begin < patience; {
		short, long = least(short, once), least(long, fourTimes)
		if long <= 8*short {
			return
		}
	}
	t.Errorf("%s takes %s for %d bytes and %s for four times as many", name, short, len(once), long)
}

// threadTime is the CPU time that this thread has taken.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
