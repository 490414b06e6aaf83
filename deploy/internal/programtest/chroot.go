package programtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Mount is a file or folder of the host at a place in a container.
type Mount struct {
	Source, Target string
	Writable       bool
}

// script mounts as an engine does, in a mount namespace of its own that ends
// with the program: the root read-only, the process and system trees, and what was
// asked for. Then it becomes the program.
const script = `set -eu
root=$1 user=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
	mount --rbind "$1" "$root$2"
	[ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
	shift 3
done
shift
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs /usr/sbin/chroot --userspec="$user" --groups= "$root" "$@"
`

// Chroot is the command line that runs one with a folder as its root, as a
// container engine does, with /dev/null and the mounts.
func Chroot(t *testing.T, root, user string, mounts []Mount, line ...string) []string {
	t.Helper()
	for _, dir := range []string{"proc", "sys"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"unshare", "--mount", "sh", "-c", script, "sh", root, user}
	for _, m := range append(slices.Clone(mounts), Mount{"/dev/null", "/dev/null", true}) {
		mountPoint(t, root, m)
		mode := "ro"
		if m.Writable {
			mode = "rw"
		}
		args = append(args, m.Source, m.Target, mode)
	}
	return slices.Concat(args, []string{"--"}, line)
}

// mountPoint makes what a mount covers, as engines do.
func mountPoint(t *testing.T, root string, m Mount) {
	t.Helper()
	info, err := os.Stat(m.Source)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(root, m.Target)
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		err = os.WriteFile(target, nil, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
