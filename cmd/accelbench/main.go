// Command accelbench puts load on a language model server with the OpenAI API
// and reports what it cost, and how far the report can be trusted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/internal/commandline"
)

// The exit codes.
const (
	exitMeasured    = 0   // something was measured and accounted for
	exitNothing     = 1   // nothing could be
	exitUsage       = 2   // the command line is wrong
	exitFailures    = 3   // stopped by a failure limit
	exitInterrupted = 130 // withdrawn by the user
)

func main() {
	// net/http logs what a server sends unasked, and that may hold what it was sent.
	log.SetOutput(io.Discard)
	// A measurement must not end because whoever read its output has gone.
	signal.Ignore(syscall.SIGPIPE)
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		fmt.Fprintln(os.Stderr, "\naccelbench: stopping, with a report of what there is; once more ends at once, with the traces kept")
	})
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	os.Exit(code)
}

// command is one of the program's commands.
type command func(ctx context.Context, stdout, stderr io.Writer) (code int, err error)

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == completeCommand {
		app, _ := newApp(nil, stdout, stderr)
		if err := complete(stdout, app.Model(), args[1:]); err != nil {
			return exitNothing
		}
		return exitMeasured
	}
	args, after := cut(respell(args))
	app, commands := newApp(after, stdout, stderr)
	name, err := commandline.Parse(app, args)
	err = commandline.Guess(err, flagsFor(app.Model(), args))
	if err == nil && after != nil && name != compareCommand {
		err = fmt.Errorf("%s takes nothing after --", name)
	}
	if help := (commandline.Unwritten{}); errors.As(err, &help) {
		if help.Unread() {
			return exitNothing
		}
		return complain(stderr, help)
	}
	if err != nil {
		return complain(stderr, usageError{err})
	}
	code, err := commands[name](ctx, stdout, stderr)
	if err == nil {
		return code
	}
	told := complain(stderr, err)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case code == exitFailures:
		return exitFailures
	}
	return told
}

// cut takes off what follows "--", and says so by a slice that is not nil.
func cut(args []string) (before, after []string) {
	for i, a := range args {
		if a == "--" {
			return args[:i], append([]string{}, args[i+1:]...)
		}
	}
	return args, nil
}

// usageError is a wrong command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }

func (e usageError) Unwrap() error { return e.err }

// complain writes one line and returns the exit code for it.
func complain(stderr io.Writer, err error) int {
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "accelbench: %v, try --help\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "accelbench: %v\n", err)
	return exitNothing
}

// newApp returns the command line and what each of its commands does. What stood
// after "--" is for compare.
func newApp(after []string, stdout, stderr io.Writer) (*kingpin.Application, map[string]command) {
	app := kingpin.New("accelbench", "Load tests for language model servers with the OpenAI API. "+
		"Exit codes: 0 measured, 1 nothing could be measured, 2 wrong command line, 3 stopped by a failure limit, 130 interrupted.")
	app.UsageWriter(stdout)
	app.ErrorWriter(stderr)
	app.HelpFlag.Short('h')
	app.Version(version.Print("accelbench"))
	app.VersionFlag.Short('v')
	commands := map[string]command{}
	setHelp(app, registerRun(app, commands))
	registerReport(app, commands)
	registerCompare(app, commands, after)
	registerCompletion(app, commands)
	app.Command("version", "Print the version.")
	commands["version"] = func(_ context.Context, stdout, _ io.Writer) (int, error) {
		_, err := fmt.Fprintln(stdout, version.Print("accelbench"))
		return exitMeasured, err
	}
	return app, commands
}

// registerCompletion adds the command that prints a shell's completion script.
func registerCompletion(app *kingpin.Application, commands map[string]command) {
	scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	c := app.Command("completion", "Print the completion script of a shell, bash, zsh or fish: source <(accelbench completion bash).")
	shell := "bash"
	c.Arg("SHELL", "bash, zsh or fish. Default: bash.").SetValue(choice{into: &shell, all: []string{"bash", "zsh", "fish"}, what: "shell"})
	commands["completion"] = func(_ context.Context, stdout, _ io.Writer) (int, error) {
		_, err := io.WriteString(stdout, scripts[shell])
		return exitMeasured, err
	}
}
