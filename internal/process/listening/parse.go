package listening

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
)

// parseSockets adds the listening sockets of the ports in a table such as
// /proc/net/tcp to sockets, which maps inodes to ports. Lines that are none are
// passed over.
func parseSockets(table io.Reader, ports []int, sockets map[uint64]int) error {
	const (
		listening = "0A"
		local     = 1 // hexadecimal address:port
		state     = 3
		inode     = 9
	)
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(" "+listening+" ")) {
			continue
		}
		f := strings.Fields(lines.Text())
		if len(f) <= inode || f[state] != listening {
			continue
		}
		_, hex, _ := strings.Cut(f[local], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil || !slices.Contains(ports, int(port)) {
			continue
		}
		if n, err := strconv.ParseUint(f[inode], 10, 64); err == nil && n > 0 {
			sockets[n] = int(port)
		}
	}
	return lines.Err()
}

// socketInode is the inode in the target of a file descriptor's link, such as
// socket:[1234], 0 for what is no socket.
func socketInode(target string) uint64 {
	rest, isSocket := strings.CutPrefix(target, "socket:[")
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 64)
	if err != nil || !isSocket || !strings.HasSuffix(rest, "]") {
		return 0
	}
	return n
}
