package commandline_test

import (
	"errors"
	"os"
	"path/filepath"
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
		to     *os.File
		unread bool
		want   string
	}{
		{gone, true, "printing the help: write |1: broken pipe"},
		{closed, false, "printing the help: write " + closed.Name() + ": file already closed"},
	} {
		app := kingpin.New("x", "")
		app.UsageWriter(tt.to).Terminate(nil)
		_, err := commandline.Parse(app, []string{"--help"})
		var u commandline.Unwritten
		if !errors.As(err, &u) || u.Unread() != tt.unread || u.Error() != tt.want {
			t.Errorf("error %v, unread %t, want %q", err, u.Unread(), tt.want)
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

func TestGuess(t *testing.T) {
	app := kingpin.New("x", "").Terminate(nil)
	app.Flag("concurrency", "").Int()
	app.Flag("currency", "").Hidden().Int()
	for given, want := range map[string]string{
		"--concurency=1": "unknown flag --concurency (did you mean --concurrency?)",
		"--currrency=1":  "unknown flag --currrency (did you mean --currency?)",
		"--xyz":          "unknown flag --xyz",
		"stray":          "unexpected stray",
	} {
		_, err := commandline.Parse(app, []string{given})
		if got := commandline.Guess(err, app.Model().Flags); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", given, got, want)
		}
	}
	if err := commandline.Guess(nil, nil); err != nil {
		t.Error(err)
	}
}
