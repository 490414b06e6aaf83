package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// The folders are looked at again and again, since they may be on a network's file
// system, where nothing tells of a change; less and less often, since a load of many
// machines is many folders to ask that file system for.
const (
	awaitPollFirst = time.Second
	awaitPollMax   = 10 * time.Second
)

// await returns when each of folders holds one run that is over, and fails when
// that takes longer than limit. It tells stderr what it still waits for, once
// for each change.
func await(ctx context.Context, limit time.Duration, folders []string, stderr io.Writer) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	wait := awaitPollFirst
	poll := time.NewTimer(wait)
	defer poll.Stop()
	told := ""
	for {
		missing, err := unfinished(folders)
		if err != nil || len(missing) == 0 {
			return err
		}
		now := fmt.Sprintf("%d of %d runs: %s", len(missing), len(folders), strings.Join(missing, "; "))
		if now != told {
			fmt.Fprintf(stderr, "accelbench: waiting for %s\n", now)
			told = now
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("waited %s in vain for %s", limit, now)
		case <-poll.C:
			wait = min(2*wait, awaitPollMax)
			poll.Reset(wait)
		}
	}
}

// unfinished says of each folder without a run that is over what it lacks. That
// a folder holds more than one run is an error: waiting would not mend it, and
// an old run must not be taken for the one that is waited for.
func unfinished(folders []string) (missing []string, err error) {
	for _, folder := range folders {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, folder+" is not there")
			continue
		}
		logs, err := runlog.Find(folder)
		switch {
		case err != nil:
			missing = append(missing, err.Error())
			continue
		case len(logs) > 1:
			return nil, fmt.Errorf("%s holds %d runs: give each load folders of its own", folder, len(logs))
		}
		over, err := ended(logs[0])
		switch {
		case err != nil:
			missing = append(missing, err.Error())
		case !over:
			missing = append(missing, logs[0]+" is not at its end")
		}
	}
	return missing, nil
}

// ended says whether the last line of a log is that of a run that is over. It
// reads no more than the end of the log: that of a long run is large, and is
// asked again and again. Whoever packed a log knew it to be over.
func ended(path string) (bool, error) {
	const tail = 4 << 10 // the line takes some hundred bytes
	if strings.HasSuffix(path, ".gz") {
		return true, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	end := make([]byte, min(size, tail))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return false, err
	}
	line, whole := bytes.CutSuffix(end, []byte("\n"))
	if !whole {
		return false, nil
	}
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	var last runlog.Record
	// What is no line, or half of one, is the middle of a run.
	return json.Unmarshal(line, &last) == nil && last.RunEnd != nil, nil
}
