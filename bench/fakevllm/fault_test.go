package fakevllm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// exchange is what a client without any manners of its own saw.
type exchange struct {
	raw     string
	reads   []string // as they came off the socket
	end     error    // nil, a reset, or a timeout
	resp    *http.Response
	body    string // decoded as far as it went
	bodyEnd error
}

// talk sends one request over a bare connection and reads until it ends, or for
// patience, or until limit bytes. Header is of whole lines.
func talk(t *testing.T, addr, path, body string, patience time.Duration, limit int, header ...string) exchange {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s",
		path, addr, len(body), strings.Join(header, ""), body); err != nil {
		t.Fatal(err)
	}
	var x exchange
	var raw bytes.Buffer
	buf := make([]byte, 256<<10)
	for raw.Len() < limit {
		n, err := conn.Read(buf)
		raw.Write(buf[:n])
		if n > 0 && raw.Len() < 1<<20 {
			x.reads = append(x.reads, string(buf[:n]))
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				x.end = err
			}
			break
		}
	}
	x.raw = raw.String()
	if x.resp, err = http.ReadResponse(bufio.NewReader(&raw), nil); err == nil {
		var b []byte
		b, x.bodyEnd = io.ReadAll(x.resp.Body)
		x.body = string(b)
	}
	return x
}

func (x exchange) timedOut() bool {
	var e net.Error
	return errors.As(x.end, &e) && e.Timeout()
}

func (x exchange) status() int {
	if x.resp == nil {
		return 0
	}
	return x.resp.StatusCode
}

// pieces are what the server sent at once: the chunks of the transfer encoding, as
// several of them can come with one read.
func (x exchange) pieces() (all []string) {
	_, rest, _ := strings.Cut(x.raw, "\r\n\r\n")
	for {
		head, tail, _ := strings.Cut(rest, "\r\n")
		size, err := strconv.ParseUint(head, 16, 16)
		if err != nil || size == 0 || int(size)+2 > len(tail) {
			return all
		}
		all, rest = append(all, tail[:size]), tail[size+2:]
	}
}

// words counts the tokens of the text in the events that are whole.
func (x exchange) words() (words, texts int) {
	for _, data := range events(x.body) {
		var c chunk
		if json.Unmarshal([]byte(data), &c) == nil && c.said() != "" {
			texts++
			words += len(slices.Collect(tokens(c.said())))
		}
	}
	return words, texts
}

// proper reports whether the stream ended as a good one does, with 12 tokens.
func (x exchange) proper() bool {
	words, _ := x.words()
	return x.status() == 200 && x.end == nil && x.bodyEnd == nil && words == 12 &&
		strings.Contains(x.body, `"finish_reason":"length"`) && strings.HasSuffix(strings.ReplaceAll(x.body, "\r", ""), "data: [DONE]\n\n")
}

// midstream reports whether text came, and then neither finish nor usage.
func (x exchange) midstream() bool {
	words, _ := x.words()
	return x.status() == 200 && words >= 3 && !strings.Contains(x.body, `"finish_reason":"`) && !strings.Contains(x.body, "usage")
}

func TestFaultsOnTheWire(t *testing.T) {
	const long, short = 20 * time.Second, 800 * time.Millisecond
	cfg := quick()
	cfg.Speed = 20 // steps of 3 ms, so that chunks are apart
	_, hs := serve(t, cfg)
	addr := hs.Listener.Addr().String()
	status := func(code int, part string) func(exchange) bool {
		return func(x exchange) bool { return x.status() == code && strings.Contains(x.body, part) && x.bodyEnd == nil }
	}
	tests := map[Fault]struct {
		patience time.Duration
		want     func(exchange) bool
	}{
		FaultNone:  {long, exchange.proper},
		FaultHang:  {short, func(x exchange) bool { return x.raw == "" && x.timedOut() }},
		FaultSlow:  {long, exchange.proper}, // its pace: TestStepTimes, TestSlowPath
		FaultReset: {long, func(x exchange) bool { return x.raw == "" && errors.Is(x.end, syscall.ECONNRESET) }},
		FaultStall: {short, func(x exchange) bool { return x.midstream() && x.timedOut() }},
		FaultSlowStream: {short, func(x exchange) bool {
			words, texts := x.words()
			return x.midstream() && x.timedOut() && words == texts && words <= 41
		}},
		FaultHTTP400: {long, status(400, `"code":400`)},
		FaultHTTP404: {long, status(404, "does not exist")},
		FaultHTTP429: {long, func(x exchange) bool { return x.status() == 429 && x.resp.Header.Get("Retry-After") == "1" }},
		FaultHTTP500: {long, status(500, `"code":500`)},
		FaultHTML200: {long, status(200, "<html>")},
		FaultRedirect: {long, func(x exchange) bool {
			return x.status() == 307 && x.resp.Header.Get("Location") == "/fault/none/dialect/vllm/v1/chat/completions"
		}},
		FaultBadJSON: {long, func(x exchange) bool {
			data := events(x.body)
			return x.midstream() && data[len(data)-1] == "[DONE]" && !json.Valid([]byte(data[len(data)-2]))
		}},
		FaultStreamError: {long, func(x exchange) bool {
			data := events(x.body)
			return x.midstream() && data[len(data)-1] == "[DONE]" && strings.HasPrefix(data[len(data)-2], `{"error":{"message":`)
		}},
		FaultTruncated: {long, func(x exchange) bool {
			return x.midstream() && x.end == nil && x.bodyEnd == nil && strings.HasSuffix(x.body, "}\n\n")
		}},
		FaultEmpty: {long, func(x exchange) bool {
			return strings.Contains(x.body, `"finish_reason":"stop"`) && strings.Contains(x.body, `"completion_tokens":0`) && noWords(x) && x.done()
		}},
		FaultNoUsage: {long, func(x exchange) bool { return x.proper() && !strings.Contains(x.body, "usage") }},
		FaultCRLF: {long, func(x exchange) bool {
			return x.proper() && strings.Count(x.body, "\n") == strings.Count(x.body, "\r\n")
		}},
		FaultSplit: {long, func(x exchange) bool {
			torn := 0
			for _, piece := range x.pieces() {
				if r, _ := utf8.DecodeLastRuneInString(piece); r == utf8.RuneError {
					torn++
				}
			}
			return x.proper() && torn >= 3
		}},
		FaultMerged: {long, func(x exchange) bool {
			words, texts := x.words()
			most := slices.MaxFunc(x.reads, func(a, b string) int { return strings.Count(a, "data:") - strings.Count(b, "data:") })
			return x.proper() && words == texts && strings.Count(most, "data:") >= mergedEvents
		}},
		FaultGzip: {long, func(x exchange) bool {
			if x.resp.Header.Get("Content-Encoding") != "gzip" {
				return false
			}
			zip, err := gzip.NewReader(strings.NewReader(x.body))
			if err != nil {
				return false
			}
			plain, err := io.ReadAll(zip)
			x.body = string(plain)
			return err == nil && x.proper()
		}},
		FaultFlood: {long, func(x exchange) bool { return x.midstream() && len(x.raw) >= floodRead }},
		FaultEndless: {short, func(x exchange) bool {
			return x.timedOut() && strings.Count(x.body, ": still here\n\n") >= 3 && len(events(x.body)) == 0
		}},
		FaultModels500: {long, exchange.proper}, FaultModelsEmpty: {long, exchange.proper},
		FaultModelsEvilName: {long, exchange.proper}, FaultModelsHang: {long, exchange.proper},
	}
	for _, fault := range Faults() {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			tc, ok := tests[fault]
			if !ok {
				t.Fatal("no test")
			}
			limit := 40 << 20
			if fault == FaultFlood {
				limit = floodRead
			}
			x := talk(t, addr, "/fault/"+string(fault)+"/v1/chat/completions",
				`{"messages":[{"role":"user","content":"hi"}],"max_tokens":12,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`, tc.patience, limit)
			if !tc.want(x) {
				t.Errorf("end %v, body's end %v, %d bytes: %.3000q", x.end, x.bodyEnd, len(x.raw), x.raw)
			}
		})
	}
}

const floodRead = 2 << 20 // bytes of a flood that a test reads

func noWords(x exchange) bool {
	words, _ := x.words()
	return words == 0
}

func (x exchange) done() bool {
	return strings.HasSuffix(x.body, "data: [DONE]\n\n") && x.bodyEnd == nil
}

func TestModelsFaults(t *testing.T) {
	s, hs := serve(t, quick())
	list := func(prefix string) (int, []string) {
		resp, err := http.Get(hs.URL + prefix + "/v1/models")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var models struct{ Data []struct{ ID string } }
		if err := json.NewDecoder(resp.Body).Decode(&models); err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, m := range models.Data {
			names = append(names, m.ID)
		}
		return resp.StatusCode, names
	}
	for prefix, want := range map[string]string{
		"": "200 [qwen2.5]", "/fault/hang": "200 [qwen2.5]", "/fault/models_500": "500 []", "/fault/models_empty": "200 []",
	} {
		if code, names := list(prefix); fmt.Sprint(code, " ", names) != want {
			t.Errorf("%s: %d %q, want %s", prefix, code, names, want)
		}
	}
	_, names := list("/fault/models_evil_name")
	if len(names) != 1 || len(names[0]) < 4096 || !strings.Contains(names[0], "\"}") || !strings.Contains(names[0], "\n") {
		t.Fatalf("evil name: %.80q", names)
	}
	resp, body := post(t, hs.URL+"/fault/models_evil_name/v1/completions", encode(t, map[string]any{"model": names[0], "prompt": "a", "max_tokens": 3}))
	if resp.StatusCode != http.StatusOK || !json.Valid([]byte(body)) {
		t.Errorf("a request for the evil name: %d %s", resp.StatusCode, body)
	}
	s.SetFault(FaultModelsEmpty)
	if _, names := list(""); len(names) != 0 {
		t.Errorf("models with the fault set for all: %q", names)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestSetFault switches the fault for all while the server runs; a fault in the
// path goes before it.
func TestSetFault(t *testing.T) {
	s, hs := serve(t, quick())
	code := func(prefix string) int {
		resp, _ := post(t, hs.URL+prefix+"/v1/completions", `{"prompt":"a","max_tokens":1}`)
		return resp.StatusCode
	}
	for _, step := range []struct {
		fault  Fault
		prefix string
		want   int
	}{
		{FaultNone, "", 200},
		{FaultHTTP500, "", 500},
		{FaultHTTP500, "/fault/none", 200},
		{FaultHTTP500, "/fault/http_429", 429},
		{FaultHTTP500, "/dialect/mindie/fault/http_429", 429},
		{"unheard-of", "", 200},
		{FaultHTTP500, "/fault/unheard-of", 404},
		{FaultRedirect, "/fault/none/dialect/vllm", 200},
	} {
		s.SetFault(step.fault)
		if got := code(step.prefix); got != step.want {
			t.Errorf("fault %s, path %s: %d, want %d", step.fault, step.prefix, got, step.want)
		}
	}
}

// TestSlowPath: a request under /fault/slow takes 20 steps a token.
func TestSlowPath(t *testing.T) {
	_, hs := serve(t, Config{Speed: 20})
	start := time.Now()
	post(t, hs.URL+"/fault/slow//v1/completions", `{"prompt":"a","max_tokens":4,"ignore_eos":true}`)
	if took := time.Since(start); took < 80*3*time.Millisecond {
		t.Errorf("80 steps of 3 ms took %v", took)
	}
}

// TestHangUpWithoutAConnection: where the connection cannot be taken over, as in
// HTTP/2, the faults that want it abort the response.
func TestHangUpWithoutAConnection(t *testing.T) {
	s, err := New(quick())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if got := recover(); got != http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
			t.Errorf("the handler ended by %v", got)
		}
	}()
	s.Handler().ServeHTTP(slowReader{}, newPost("/fault/reset/v1/completions", `{}`))
}
