package commandline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/internal/commandline"
)

// Whoever stops reading the help gets no trace of a crash, and a full disk is told.
func TestHelpThatCannotBeWritten(t *testing.T) {
	read, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer gone.Close()
	closed, err := os.Create(filepath.Join(t.TempDir(), "help"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tt := range []struct {
		to   *os.File
		want string
	}{
		{gone, ""},
		{closed, "prog: printing the help: write " + closed.Name() + ": file already closed\n"},
	} {
		app := kingpin.New("x", "")
		app.UsageWriter(tt.to).Terminate(nil)
		_, err := commandline.Parse(app, []string{"--help"})
		var stderr strings.Builder
		if code := commandline.Fail(&stderr, "prog", err); code != commandline.ExitFailure || stderr.String() != tt.want {
			t.Errorf("exit code %d, told %q, want %q", code, stderr.String(), tt.want)
		}
	}
}

// A mistake in the definition of the flags is no trouble with printing.
func TestPanicsOfOtherKindsGoOn(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic is lost")
		}
	}()
	app := kingpin.New("x", "")
	app.Flag("a", "").PreAction(func(*kingpin.ParseContext) error { panic("a mistake") }).Bool()
	_, _ = commandline.Parse(app, []string{"--a"})
}

// A wrong command line is told with what was meant, and with exit code 2.
func TestWrongCommandLines(t *testing.T) {
	app := kingpin.New("x", "").Terminate(nil)
	app.Flag("verbose", "").Bool()
	run := app.Command("run", "")
	run.Flag("concurrency", "").Int()
	run.Flag("currency", "").Hidden().Int()
	commandline.Bind(run.Flag("port", ""), commandline.Value{Read: func(string) error { return errors.New("no port") }})
	for given, want := range map[string]string{
		"run --concurency=1": "unknown flag --concurency (did you mean --concurrency?)",
		"run --currrency=1":  "unknown flag --currrency (did you mean --currency?)",
		"run --verbos":       "unknown flag --verbos (did you mean --verbose?)",
		"--concurency=1":     "unknown flag --concurency",
		"run --xyz":          "unknown flag --xyz",
		"run stray":          "unexpected stray",
		"run --port x":       "--port: no port",
	} {
		_, err := commandline.Parse(app, strings.Fields(given))
		var stderr strings.Builder
		if code := commandline.Fail(&stderr, "prog", err); code != commandline.ExitUsage || stderr.String() != "prog: "+want+", try --help\n" {
			t.Errorf("%s: exit code %d, told %s, want %s", given, code, stderr.String(), want)
		}
	}
	if _, err := commandline.Parse(app, []string{"run", "--concurrency=1"}); err != nil {
		t.Error(err)
	}
}
