package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// smi is one of the vendor tools.
type smi struct {
	name string
	// answer is what it says to one call.
	answer func(st state, args []string) (answer, error)
	// commands are the names that a .fault file may have for its calls.
	commands  []string
	asksCards bool // some calls are about one card
	// noDevice and driver are error texts in the tool's own words.
	noDevice, driver string
	unknown          string // the answer to arguments it does not know
}

// answer is what a tool says to one call, before the call's faults.
type answer struct {
	command string // its name among the tool's commands; "" for one that is not known
	card    string // the card that the call is about; "" for all of them
	text    string
	isError bool // the text goes to stderr
	status  int
	wait    time.Duration // before it answers
	// again is the text of the next round, for a command that does not end; every is
	// the time between two.
	again func() (string, error)
	every time.Duration
}

// tool finds a tool by name, nil when there is none of that name.
func tool(name string) *smi {
	switch name {
	case "mx-smi", "ht-smi":
		return &smi{
			name:     name,
			answer:   func(st state, args []string) (answer, error) { return metaXAnswer(st, name, args) },
			commands: metaXNames(),
			noDevice: name + "  version: 2.2.9\n\nNo available devices were discovered\n",
			driver:   name + "  version: 2.2.9\n\nDriver is not loaded\n",
			unknown:  "PARSE ERROR: Argument: %s\n             Couldn't find match for argument\n",
		}
	case "npu-smi":
		return &smi{
			name:      name,
			answer:    ascendAnswer,
			commands:  ascendNames(),
			asksCards: true,
			noDevice:  "There is no NPU card on this server.\n",
			driver:    "dcmi module initialize failed. ret is -8005\n",
			unknown:   "Error parameter of %s\nUsage: npu-smi info <watch|-h|-m|-l|-t type> [Options...]\n",
		}
	case "hccn_tool":
		return &smi{
			name:      name,
			answer:    networkAnswer,
			commands:  networkNames(),
			asksCards: true,
			noDevice:  "The device is not exist!\n",
			driver:    "Get device health status failed!\n",
			unknown:   "Error parameter of %s\nUsage: hccn_tool -i <device_id> -<cmd> -g\n",
		}
	}
	return nil
}

// call prints what the tool prints, and misbehaves as the state folder says.
func (t *smi) call(st state, args []string, stdout, stderr io.Writer) int {
	faults, err := t.parseFaults(st.setting(t.name + ".fault"))
	if err != nil {
		return t.fail(err, stdout)
	}
	if t.name == networkTool {
		unlock, err := st.lockNetwork()
		switch {
		case errors.Is(err, errLocked):
			fmt.Fprint(stdout, "hccn_tool is busy, please try again.\n")
			return statusBusy
		case err != nil:
			return t.fail(err, stdout)
		}
		defer unlock()
	}
	a, err := t.answer(st, args)
	switch {
	case err != nil:
		return t.fail(err, stdout)
	case a.command == "":
		fmt.Fprintf(stdout, t.unknown, cmp.Or(a.text, strings.Join(args, " ")))
		return 1
	}
	wait, fault := faults.of(a.command, a.card)
	time.Sleep(a.wait + wait)
	out := stdout
	if a.isError {
		out = stderr
	}
	if a.again != nil && (fault == "" || fault == faultCardLost) {
		return t.goOn(a, out)
	}
	return misbehave(t, fault, []byte(a.text), a.status, out)
}

func (t *smi) fail(err error, stdout io.Writer) int {
	fmt.Fprintf(stdout, "%s: %v\n", t.name, err)
	return 3
}

// goOn prints round after round, each card's line when it is there, until nobody reads.
func (t *smi) goOn(a answer, stdout io.Writer) int {
	for text := a.text; ; {
		for line := range strings.Lines(text) {
			if _, err := io.WriteString(stdout, line); err != nil {
				return 1
			}
		}
		time.Sleep(a.every)
		var err error
		if text, err = a.again(); err != nil {
			return t.fail(err, stdout)
		}
	}
}

// layout reads a tool's chosen layout, or its usual one.
func layout(st state, tool, usual string) string { return cmp.Or(st.setting(tool+".layout"), usual) }

// printed is what one of the printers writes.
func printed(write func(io.Writer) error) (string, error) {
	var b bytes.Buffer
	err := write(&b)
	return b.String(), err
}

// option takes the value behind an argument out of arguments, "" where it is not there.
func option(args []string, name string) (value string, rest []string) {
	i := slices.Index(args, name)
	if i < 0 || i+1 == len(args) {
		return "", args
	}
	return args[i+1], slices.Concat(args[:i], args[i+2:])
}
