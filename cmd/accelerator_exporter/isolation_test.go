//go:build e2e

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// play has a host with cards of a vendor, and with a neighbour of which only the table is asked. When all commands have been
// asked, one gets a fault. It returns scrapes before that, after some polls, and when what was known before is too old.
func play(t *testing.T, m *machine, vendors []string, without, where string, f fault) (scrapes []map[string]float64, commands []string) {
	synctest.Test(t, func(t *testing.T) {
		s := newStandIn(t, m)
		s.adapt = func(vendor string, c *model.Command) bool {
			return soon(vendor, c) && vendor+" "+c.Name != without && (vendor == vendors[0] || c.Name == "table" || c.EveryPoll)
		}
		s.collect(s.options(vendors...), func(scrape func() map[string]float64) {
			for _, wait := range []time.Duration{20 * time.Second, 2 * time.Minute, 90 * time.Second} {
				time.Sleep(wait)
				scrapes = append(scrapes, scrape())
				s.set(where, f)
			}
		})
		commands = s.commands()
	})
	return scrapes, commands
}

// A fault of one command is its own affair. Each series is as before, or as on a host where the command is not asked at
// all: so a fault may cost what the command has, and changes nothing else. A user would notice cards, or their values, that
// go when something else fails.
//
// By rule, a fault shows in the health of its collector: in the command's last run and the count of warnings, which a fault
// that stays raises once; where it is the main table in the whole health, and in how many cards there are. Times do not
// count. A topology that is cut after its matrix names NICs by their columns.
func TestAFaultChangesItsOwnSeriesOnly(t *testing.T) {
	m := newMachine(t, false)
	vendors := collector.Vendors()
	for i := range vendors {
		vendor := vendors[i].Name
		both := []string{vendor, vendors[(i+1)%len(vendors)].Name}
		_, commands := play(t, m, both, "", "", "")
		for _, command := range commands {
			if !strings.HasPrefix(command, vendor+" ") {
				continue
			}
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				others, own := both, ownHealth(vendor, command)
				if strings.HasSuffix(command, " table") {
					others = both[1:]
				}
				without, _ := play(t, m, others, command, "", "")
				for _, f := range []fault{hang, halfway, slow, refusal, cut, torn, exit, flaky} {
					scrapes, _ := play(t, m, both, "", command, f)
					for i, after := range scrapes[1:] {
						wantSame(t, fmt.Sprintf("%s, scrape %d", f, i+1), scrapes[0], without[0], after, own)
					}
					if f == cut || f == torn || f == exit || f == refusal { // the others are asked again later
						wantSame(t, string(f)+" goes on", warnings(scrapes[1]), nil, warnings(scrapes[2]), nil)
					}
				}
			})
		}
	}
}

// ownHealth matches the series that may say that a command of a vendor fails.
func ownHealth(vendor, command string) *regexp.Regexp {
	_, name, _ := strings.Cut(command, " ")
	health := fmt.Sprintf(`_collector_command_\w+{collector=%q}{command=%q}|_parse_warnings_total{collector=%q}|{peer="NIC`, vendor, name, vendor)
	if name == "table" {
		health += fmt.Sprintf(`|_collector_\w+{collector=%q}|_devices(_expected)?{vendor=%q}|_device_missing_info.*{vendor=%q}`, vendor, vendor, vendor)
	}
	return regexp.MustCompile(health)
}

// wantSame fails for series that are neither as in one scrape nor as in another, and that do not match own.
func wantSame(t *testing.T, what string, before, without, now map[string]float64, own *regexp.Regexp) {
	t.Helper()
	isTime := regexp.MustCompile("_timestamp_seconds|_duration_seconds")
	same := func(name string, other map[string]float64) bool {
		a, isA := now[name]
		b, isB := other[name]
		return isA == isB && (a == b || isTime.MatchString(name))
	}
	var changed []string
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !same(name, before) && (without == nil || !same(name, without)) && (own == nil || !own.MatchString(name)) {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		t.Errorf("%s: %d other series changed, such as\n%s", what, len(changed), strings.Join(changed[:min(len(changed), 5)], "\n"))
	}
}

// warnings are the counts of warnings of a scrape.
func warnings(all map[string]float64) map[string]float64 {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(name string, _ float64) bool { return !strings.HasPrefix(name, "accelerator_parse_warnings_total") })
	return all
}

// What is around the tools, or a card, fails and is well again. It costs its own series, its warning is counted once, and
// nothing of it is left: a user would notice the failure of a command that is asked no more.
func TestAFaultAroundTheTools(t *testing.T) {
	away := func(path string) (fail, mend func() error) {
		return func() error { return os.Rename(path, path+".away") }, func() error { return os.Rename(path+".away", path) }
	}
	type around = func(s *standIn, kubelet string) (fail, mend func() error)
	orders := func(name, text string) around {
		return func(s *standIn, _ string) (fail, mend func() error) {
			return func() error { s.order(name, text); return nil }, func() error { s.order(name, ""); return nil }
		}
	}
	for name, c := range map[string]struct {
		around around
		own    string
	}{
		"no kubelet": {func(_ *standIn, kubelet string) (fail, mend func() error) { return away(kubelet) }, `{collector="allocations"}|_allocation_`},
		"no procfs":  {func(s *standIn, _ string) (fail, mend func() error) { return away(string(s.procfs)) }, `{collector="containers"}|_process_(cpus|near|container|placement)`},
		"a file of a node": {func(s *standIn, _ string) (fail, mend func() error) {
			return away(s.sysfs + "/devices/system/node/node1/meminfo")
		}, `{collector="numa"}|_numa_memory.*{node="1"}|_near_memory`},
		"a stuck tool": {func(s *standIn, _ string) (fail, mend func() error) {
			return func() error { s.set("nvidia-smi", stuck); return nil }, func() error { s.set("nvidia-smi", ""); return nil }
		}, `="nvidia"`},
		"a sick card":            {orders("npu-smi.card", "0 unhealthy"), `{device="0"}.*{vendor="ascend"}|{collector="ascend"}{command="health"}`},
		"a sick hidden card":     {orders("mx-smi.card", "2 unhealthy"), `="metax"|{collector="allocations"}`},
		"a sick card in a list":  {orders("hy-smi.card", "2 unhealthy"), `{device="2"}.*{vendor="hygon"}`},
		"a card without values":  {orders("ixsmi.card", "2 unhealthy"), `{device="2"}.*{vendor="iluvatar"}`},
		"a sick card in a query": {orders("efsmi.card", "2 unhealthy"), `{device="2"}.*{vendor="enflame"}`},
		"a lost card":            {orders("nvidia-smi.fault", "card_lost"), `="nvidia"`},
	} {
		t.Run(name, func(t *testing.T) {
			m, kubelet := newMachine(t, false), kubelet(t)
			synctest.Test(t, func(t *testing.T) {
				s := newStandIn(t, m)
				o, own := s.options(), regexp.MustCompile(c.own)
				o.PodResources = kubelet
				fail, mend := c.around(s, kubelet)
				s.collect(o, func(scrape func() map[string]float64) {
					scrapeAfter := func(wait time.Duration, do func() error) map[string]float64 {
						if err := do(); err != nil {
							t.Error(err)
						}
						time.Sleep(wait)
						return scrape()
					}
					before := scrapeAfter(2*time.Minute, func() error { return nil })
					soon, later := scrapeAfter(3*time.Minute, fail), scrapeAfter(5*time.Minute, func() error { return nil })
					if maps.Equal(before, later) {
						t.Error("nothing has changed")
					}
					wantSame(t, "soon", before, nil, soon, own)
					wantSame(t, "later", before, nil, later, own)
					wantSame(t, "it goes on", warnings(soon), nil, warnings(later), nil)
					wantSame(t, "afterwards", before, nil, scrapeAfter(10*time.Minute, mend), regexp.MustCompile("_failures_total|_parse_warnings_total"))
				})
			})
		})
	}
}

// A file of a process that hangs, as on a dead mount, costs what is known of that vendor's processes: no NUMA node of a card,
// no process of another vendor, and not a log line at every poll. This takes real time: a read that hangs holds up a virtual
// clock.
func TestAFaultOfAFileOfAProcess(t *testing.T) {
	s, log := newStandIn(t, newMachine(t, false)), new(logBuffer)
	s.adapt = func(_ string, c *model.Command) bool { return c.Name == "table" || c.EveryPoll }
	o := s.options("ascend", "nvidia")
	o.Logger, o.Interval, o.Timeout = newLogger(log, "info", "logfmt"), 50*time.Millisecond, time.Second
	s.collect(o, func(scrape func() map[string]float64) {
		var before map[string]float64
		waitFor(t, "cards and processes of both vendors", func() bool {
			before = scrape()
			return before[`accelerator_process_near_memory_allowed{device="0"}{pid="200"}{vendor="ascend"}`] == 1 &&
				before[`accelerator_process_near_memory_allowed{device="0"}{pid="300"}{vendor="nvidia"}`] == 1
		})
		cgroup := s.procfs.Path("200/cgroup")
		if err := errors.Join(os.Remove(cgroup), syscall.Mkfifo(cgroup, 0o600)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if end, err := os.OpenFile(cgroup, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				end.Close()
			}
		}()
		waitFor(t, "the look fails", func() bool {
			return scrape()[`accelerator_collector_failures_total{collector="containers"}{reason="timeout"}`] > 0
		})
		asked, lines := s.asked(), strings.Count(log.String(), "\n")
		waitFor(t, "some more polls", func() bool { return s.asked() > asked+40 })
		wantSame(t, "afterwards", before, nil, scrape(), regexp.MustCompile(`{collector="containers"}|_process_(cpus|near|container|placement).*{vendor="ascend"}`))
		if now := strings.Count(log.String(), "\n"); now > lines+2 {
			t.Errorf("%d more lines of log:\n%s", now-lines, log)
		}
	})
}
