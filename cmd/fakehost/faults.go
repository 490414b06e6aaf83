package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The faults of a tool, as written to its .fault file.
const (
	faultHang       = "hang"        // never answer
	faultHangChild  = "hang_child"  // never answer, and have a child that does not either
	faultIgnoreTerm = "ignore_term" // never answer, and ignore SIGTERM
	faultHalf       = "half"        // print half the answer, then hang
	faultSlow       = "slow"        // answer after 8 seconds
	faultExit       = "exit"        // exit 1 without a word
	faultExitAfter  = "exit_after"  // answer, then exit 1
	faultFlood      = "flood"       // print without end
	faultTorn       = "torn"        // lose the end of the answer, in the middle of a row
	faultCardLost   = "card_lost"   // answer without the last card
	faultNoDevice   = "no_device"   // say that there is no card
	faultDriver     = "driver"      // say that the driver does not answer, and exit 0
	faultGarbage    = "garbage"     // print another program's table
)

// childName is what the child of faultHangChild is called with.
const childName = "hang"

const slowAnswer = 8 * time.Second

// misbehave prints text in the manner of a fault and returns the exit status.
func misbehave(t *smi, fault string, text []byte, stdout io.Writer) int {
	status := 0
	switch fault {
	case "", faultCardLost:
	case faultHang:
		hang()
	case faultHangChild:
		startChild()
		hang()
	case faultIgnoreTerm:
		signal.Ignore(syscall.SIGTERM)
		hang()
	case faultHalf:
		_, _ = stdout.Write(text[:len(text)/2])
		hang()
	case faultSlow:
		time.Sleep(slowAnswer)
	case faultExit:
		return 1
	case faultExitAfter:
		status = 1
	case faultFlood:
		for {
			if _, err := stdout.Write(text); err != nil {
				return 1
			}
		}
	case faultTorn:
		text = text[:bytes.LastIndexByte(text[:len(text)/2], '\n')+20]
	case faultNoDevice:
		text, status = []byte(t.noDevice), 2
	case faultDriver:
		text = []byte(t.driver)
	case faultGarbage:
		text = []byte("+-----+\n| OTHER-SMI 1.0 |\n+-----+\n")
	default:
		fmt.Fprintf(stdout, "%s: unknown fault %q\n", t.name, fault)
		return 3
	}
	if _, err := stdout.Write(text); err != nil {
		return 1
	}
	return status
}

// hang waits for ever, which a select without cases may not: the runtime would
// call it a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// startChild leaves a child that holds the same output and never ends.
func startChild() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	_, _ = os.StartProcess(self, []string{"fakehost", childName}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
}
