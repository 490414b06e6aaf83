package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/go-kit/log"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// requestLog writes each request's record when the request is over, so that the
// server need not be stopped before it is read.
type requestLog struct {
	mu     sync.Mutex
	file   *os.File
	logger log.Logger
}

// openRequestLog adds to the file of that name.
func openRequestLog(name string, logger log.Logger) (*requestLog, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of requests: %w", err)
	}
	return &requestLog{file: file, logger: logger}, nil
}

func (l *requestLog) add(rec fakevllm.RequestRecord) {
	line, err := json.Marshal(rec)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		_ = l.logger.Log("msg", "a request is missing in the log of requests", "err", err)
	}
}
