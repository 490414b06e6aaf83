// Command accelbench puts load on a language model server with the OpenAI API and reports what came of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
)

// The exit codes.
const (
	exitMeasured    = 0   // something was measured and accounted for
	exitNothing     = 1   // nothing could be
	exitUsage       = 2   // the command line is wrong
	exitFailures    = 3   // too many requests failed, or the server went away or did not start
	exitMisplaced   = 4   // a process is not where it could be
	exitMissed      = 5   // an objective is missed, or a difference is larger than it may be
	exitUndecided   = 6   // too few runs to tell whether it is
	exitInterrupted = 130 // ended by the user
)

func main() {
	// net/http logs what a server sends unasked, and that may hold what it was sent.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		fmt.Fprintln(os.Stderr, "\naccelbench: stopping, then reporting what was measured; interrupt again to exit at once and keep only the traces")
	})
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}

// program is what its commands share.
type program struct {
	*kingpin.Application
	args           []string // as typed, the program's name first
	stdout, stderr io.Writer
	commands       map[string]func(context.Context) (code int, err error)
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p := newProgram(args, stdout, stderr)
	name, err := parse(p.Application, args[1:])
	code := exitUsage
	if err == nil {
		// A measurement must not end because whoever read its output has gone.
		signal.Ignore(syscall.SIGPIPE)
		code, err = p.commands[name](ctx)
	}
	if err == nil {
		return code
	}
	if _, isUsage := errors.AsType[usageError](err); isUsage {
		err, code = fmt.Errorf("%w, try --help", err), exitUsage
	} else if !slices.Contains([]int{exitFailures, exitMissed, exitUndecided}, code) {
		code = exitNothing
	}
	fmt.Fprintf(stderr, "accelbench: %v\n", err)
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return code
}

// parse reads a command line and returns the name of its command.
func parse(app *kingpin.Application, args []string) (command string, err error) {
	if command, err = app.Parse(joinValues(args)); err != nil {
		return command, usage(err)
	}
	return command, nil
}

// usageError is a wrong command line.
type usageError struct{ error }

func usage(err error) error { return usageError{err} }

// newProgram returns the command line and what each of its commands does. args are the program's, its name first.
func newProgram(args []string, stdout, stderr io.Writer) *program {
	app := kingpin.New("accelbench", "Load tests for language model servers with the OpenAI API. Exit codes: 0 measured, "+
		"1 nothing could be measured, 2 wrong command line, 130 interrupted, 3 too many requests failed, or the server went away or did not "+
		"start, 4 a process is misplaced (placement), 5 an objective is missed (run --slo) or a figure is worse than allowed (compare --fail-on), "+
		"6 too few runs to tell (compare --fail-on).")
	app.UsageWriter(stdout)
	app.ErrorWriter(stderr)
	app.HelpFlag.Help("Show this help.")
	app.Version(version.Print("accelbench"))
	p := &program{app, args, stdout, stderr, map[string]func(context.Context) (int, error){}}
	p.addRun()
	p.addEvalscope()
	p.addCapacity()
	p.addReport()
	p.addCompare()
	p.addPlacement()
	for _, c := range app.Model().Commands {
		acceptRepeats(app.GetCommand(c.Name))
	}
	return p
}
