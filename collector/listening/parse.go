package listening

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// parseSockets adds the listening sockets of a table such as /proc/net/tcp to
// sockets, which maps inodes to ports. Lines that are none are passed over.
func parseSockets(table io.Reader, wanted map[int]bool, sockets map[uint64]int) error {
	const (
		listening = "0A"
		local     = 1 // hexadecimal address:port
		state     = 3
		inode     = 9
	)
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) <= inode || f[state] != listening {
			continue
		}
		_, hex, _ := strings.Cut(f[local], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil || !wanted[int(port)] {
			continue
		}
		if n, err := strconv.ParseUint(f[inode], 10, 64); err == nil && n > 0 {
			sockets[n] = int(port)
		}
	}
	return lines.Err()
}

// socketInode reads the target of a file descriptor's link, such as socket:[1234].
func socketInode(target string) (uint64, bool) {
	rest, ok := strings.CutPrefix(target, "socket:[")
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutSuffix(rest, "]")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// parseParent reads the parent's PID from a process's stat file. The name in
// there is in brackets and may itself hold blanks and brackets.
func parseParent(stat string) (int, bool) {
	end := strings.LastIndexByte(stat, ')')
	f := strings.Fields(stat[end+1:])
	if end < 0 || len(f) < 2 {
		return 0, false
	}
	pid, err := strconv.ParseUint(f[1], 10, 31)
	return int(pid), err == nil
}
