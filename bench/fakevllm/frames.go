package fakevllm

import (
	"bytes"
	"embed"
	"net/http"
)

// frames are whole answers as other engines write them, broken ones among them. A path
// /fault/NAME/v1/… answers with frames/NAME.txt.
//
//go:embed frames
var frames embed.FS

// replay sends the frames of that name, and reports whether there are some.
func replay(w http.ResponseWriter, name string) bool {
	answer, err := frames.ReadFile("frames/" + name + ".txt")
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for frame := range bytes.SplitAfterSeq(answer, []byte("\n\n")) {
		_, _ = w.Write(frame) // the client may be gone
		_ = http.NewResponseController(w).Flush()
	}
	return true
}
