package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// What is no file of the kernel's, or longer than its files are, is refused in words.
func TestReadRefusesWhatIsNoFile(t *testing.T) {
	procfs := made(t, map[string]string{"7/status": "Name:\tx\n", "7/long": "Name:\txx\n", "7/folder/x": "", "7/link": "->status"})
	if err := syscall.Mkfifo(procfs.path(7, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"status": "<nil>", "long": "more than 8 bytes", "none": "no such file or directory",
		"folder": "not a file", "pipe": "not a file", "link": "too many levels of symbolic links",
	} {
		text, err := procfs.Read(7, name, 8)
		if fmt.Sprint(err) != want || (string(text) == "Name:\tx\n") != (err == nil) {
			t.Errorf("%s: %q, %v, want %s", name, text, err, want)
		}
	}
}

// What is read while a number changes hands may be of either process.
func TestBetween(t *testing.T) {
	stat := func(start int) string {
		return fmt.Sprintf("7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d\n", start)
	}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		files     map[string]string
		meanwhile func(file string) error
		read, ok  bool
		want      error
	}{
		"it stays":               {map[string]string{"7/stat": stat(100)}, func(string) error { return nil }, true, true, nil},
		"it stays, unread":       {map[string]string{"7/stat": stat(100)}, func(string) error { return failed }, true, true, failed},
		"it ends":                {map[string]string{"7/stat": stat(100)}, os.Remove, true, false, nil},
		"it ends, unread":        {map[string]string{"7/stat": stat(100)}, func(file string) error { return errors.Join(os.Remove(file), failed) }, true, false, failed},
		"another has its number": {map[string]string{"7/stat": stat(100)}, func(file string) error { return os.WriteFile(file, []byte(stat(101)), 0o600) }, true, false, nil},
		"it has ended":           {nil, func(string) error { return nil }, false, false, nil},
	} {
		procfs, read := made(t, c.files), false
		st, same, err := procfs.Between(7, func() error {
			read = true
			return c.meanwhile(procfs.path(7, "stat"))
		})
		if read != c.read || same != c.ok || !errors.Is(err, c.want) {
			t.Errorf("%s: read %t, same %t, %v; want %t, %t, %v", name, read, same, err, c.read, c.ok, c.want)
		}
		if read && (st.PID != 7 || st.Start != 100) {
			t.Errorf("%s: not the first look: %+v", name, st)
		}
	}
}
