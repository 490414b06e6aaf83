package main

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// faultCardLost, as written to a tool's .fault file, is an answer without the last card.
const faultCardLost = "card_lost"

// childName is what the child of the fault hang_child is called with.
const childName = "hang"

// toolFaultKinds are what misbehave knows, and those that only take time.
func toolFaultKinds() []string {
	return []string{
		"hang", "hang_child", "ignore_term", "half", faultSlow, faultDelay, "exit", "exit_after", "flood", "torn",
		faultCardLost, "no_device", "driver", "garbage",
	}
}

// misbehave prints text in the manner of a fault and returns the exit status, which
// without one is status.
func misbehave(t *smi, fault string, text []byte, status int, stdout io.Writer) int {
	switch fault {
	case "", faultCardLost:
	case "hang": // never answer
		hang()
	case "hang_child": // never answer, and have a child that does not either
		startChild()
		hang()
	case "ignore_term": // never answer, and ignore SIGTERM
		signal.Ignore(syscall.SIGTERM)
		hang()
	case "half": // print half the answer, then hang
		_, _ = stdout.Write(text[:len(text)/2])
		hang()
	case "exit": // exit 1 without a word
		return 1
	case "exit_after": // answer, then exit 1
		status = 1
	case "flood": // print without end
		for {
			if _, err := stdout.Write(text); err != nil {
				return 1
			}
		}
	case "torn": // lose the end of the answer, in the middle of a row
		text = text[:min(len(text)-1, bytes.LastIndexByte(text[:len(text)/2], '\n')+20)]
	case "no_device": // say that there is no card
		text, status = []byte(t.noDevice), 2
	case "driver": // say that the driver does not answer, and exit 0
		text = []byte(t.driver)
	case "garbage": // print another program's table
		text = []byte("+-----+\n| OTHER-SMI 1.0 |\n+-----+\n")
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
