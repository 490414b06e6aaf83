// Package failure has the classes of what can go wrong with a program, a file or an answer.
package failure

import (
	"errors"
	"fmt"
	"io/fs"
)

// Reason is the class of a collector's failure. It is a label value, so the set is closed.
type Reason string

// The classes. Vendor tools print errors to stdout and may exit 0, so a class
// is judged by what was printed first and by the exit status last.
const (
	NotFound       Reason = "not_found"        // no such program or file
	Permission     Reason = "permission"       // not executable, or the tool refuses this user
	NoDevice       Reason = "no_device"        // the tool says there is no card
	Driver         Reason = "driver"           // the tool could not load its libraries or reach its driver
	Busy           Reason = "busy"             // the device is held by somebody else
	Unsupported    Reason = "unsupported"      // the tool, card or kernel does not know the question
	Timeout        Reason = "timeout"          // no complete answer within the deadline
	Stuck          Reason = "stuck"            // a child outlived SIGKILL, so no other is started
	Exit           Reason = "exit"             // any other error, such as an exit status that the output does not explain
	OutputTooLarge Reason = "output_too_large" // more output than the cap
	Parse          Reason = "parse"            // the output is not what the tool prints
)

// Reasons returns every class, in a stable order.
func Reasons() []Reason {
	return []Reason{
		NotFound, Permission, NoDevice, Driver, Busy, Unsupported,
		Timeout, Stuck, Exit, OutputTooLarge, Parse,
	}
}

// Error is an error with its class.
type Error struct {
	Reason Reason
	Err    error
}

// Errorf formats an error of the given class; %w is understood.
func Errorf(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Err: fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the class of err, Parse for an error that carries none, and
// "" for nil.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Parse
}

// Cause is err without the operation and the path that os puts in front.
func Cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
