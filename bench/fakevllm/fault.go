package fakevllm

import (
	"strings"
	"sync/atomic"
)

// Fault is one way to misbehave. A fault touches the completion paths only,
// except the models_* ones, which touch /v1/models only.
type Fault string

// The faults. Those "mid-stream" strike after three chunks of text, or after
// the last one of a shorter answer; on a request that does not stream they cut
// the JSON body in half, or do what their line says.
const (
	// FaultNone is no fault; in a path it also overrides the one set for all.
	FaultNone Fault = "none"
	// FaultHang accepts the request and never answers.
	FaultHang Fault = "hang"
	// FaultSlow makes a token take 20 steps.
	FaultSlow Fault = "slow"
	// FaultReset resets the connection before a response.
	FaultReset Fault = "reset"
	// FaultCloseBeforeResponse closes the connection before a response.
	FaultCloseBeforeResponse Fault = "close_before_response"
	// FaultStall falls silent mid-stream and keeps the connection.
	FaultStall Fault = "stall"
	// FaultSlowStream sends a token every fault pace, for ever.
	FaultSlowStream Fault = "slow_stream"
	// FaultHTTP400 to FaultHTTP503 answer with that status and an error in JSON,
	// 503 with plain text.
	FaultHTTP400 Fault = "http_400"
	FaultHTTP401 Fault = "http_401" // the body is the flat {"error":"Unauthorized"}
	FaultHTTP404 Fault = "http_404" // no such model
	FaultHTTP429 Fault = "http_429" // with Retry-After
	FaultHTTP500 Fault = "http_500"
	FaultHTTP503 Fault = "http_503"
	// FaultHTML502 answers 502 with a gateway's HTML page.
	FaultHTML502 Fault = "html_502"
	// FaultHTML200 answers 200 with an HTML page.
	FaultHTML200 Fault = "html_200"
	// FaultRedirect answers 307; the place it points to works.
	FaultRedirect Fault = "redirect"
	// FaultBadJSON sends an event with half a JSON object mid-stream, then [DONE].
	FaultBadJSON Fault = "bad_json"
	// FaultStreamError sends an error object mid-stream, then [DONE]; a request
	// that does not stream gets a 500.
	FaultStreamError Fault = "stream_error"
	// FaultTruncated ends the body properly mid-stream, without finish or [DONE].
	FaultTruncated Fault = "truncated"
	// FaultCut closes the connection in the middle of an event.
	FaultCut Fault = "cut"
	// FaultResetStream resets the connection in the middle of an event.
	FaultResetStream Fault = "reset_stream"
	// FaultEmpty finishes properly without any text.
	FaultEmpty Fault = "empty"
	// FaultEmptyBody answers 200 and no byte.
	FaultEmptyBody Fault = "empty_body"
	// FaultRoleOnly sends a role frame and [DONE].
	FaultRoleOnly Fault = "role_only"
	// FaultEarlyRole sends the role frame at once and holds the request back
	// for a fault pace before the engine sees it.
	FaultEarlyRole Fault = "early_role"
	// FaultNoUsage never sends usage.
	FaultNoUsage Fault = "no_usage"
	// FaultNoDone leaves out [DONE].
	FaultNoDone Fault = "no_done"
	// FaultCRLF ends lines with CR LF.
	FaultCRLF Fault = "crlf"
	// FaultComments puts a comment and an empty line before every event.
	FaultComments Fault = "comments"
	// FaultSplit writes every event in two pieces, cut inside a character, all
	// of the text being such characters.
	FaultSplit Fault = "split"
	// FaultMerged writes ten events at a time, one token each.
	FaultMerged Fault = "merged"
	// FaultGzip compresses the response, asked for or not.
	FaultGzip Fault = "gzip"
	// FaultGarbage answers something that is not HTTP.
	FaultGarbage Fault = "garbage"
	// FaultHugeLine sends one line of 32 MiB.
	FaultHugeLine Fault = "huge_line"
	// FaultFlood sends text as fast as it is read, for ever.
	FaultFlood Fault = "flood"
	// FaultEndless sends a comment every fault pace, for ever, and nothing else.
	FaultEndless Fault = "endless"
	// FaultModels500 answers /v1/models with 500.
	FaultModels500 Fault = "models_500"
	// FaultModelsEmpty answers /v1/models with an empty list.
	FaultModelsEmpty Fault = "models_empty"
	// FaultModelsEvilName lists, and serves, a model with a name of quotes,
	// line ends and 4 KiB length.
	FaultModelsEvilName Fault = "models_evil_name"
	// FaultModelsHang never answers /v1/models.
	FaultModelsHang Fault = "models_hang"
)

// Faults returns every fault, FaultNone first.
func Faults() []Fault {
	return []Fault{
		FaultNone, FaultHang, FaultSlow, FaultReset, FaultCloseBeforeResponse, FaultStall, FaultSlowStream,
		FaultHTTP400, FaultHTTP401, FaultHTTP404, FaultHTTP429, FaultHTTP500, FaultHTTP503,
		FaultHTML502, FaultHTML200, FaultRedirect, FaultBadJSON, FaultStreamError, FaultTruncated,
		FaultCut, FaultResetStream, FaultEmpty, FaultEmptyBody, FaultRoleOnly, FaultEarlyRole,
		FaultNoUsage, FaultNoDone, FaultCRLF, FaultComments, FaultSplit, FaultMerged, FaultGzip,
		FaultGarbage, FaultHugeLine, FaultFlood, FaultEndless,
		FaultModels500, FaultModelsEmpty, FaultModelsEvilName, FaultModelsHang,
	}
}

// ParseFault returns the fault of that name; the error lists all of them.
func ParseFault(name string) (Fault, error) {
	return parseName(name, "fault", Faults())
}

// standing is the fault that is set for all requests, or for the next few.
type standing struct {
	fault   Fault
	limited bool
	left    atomic.Int64 // requests to hit yet, where it is limited
}

// slowsAll says whether the whole batch is slow, and not requests alone.
func (f *standing) slowsAll() bool { return f.fault == FaultSlow && !f.limited }

// next returns the fault of a request whose path names none, and whether that
// slows this request alone.
func (f *standing) next(method, path string) (fault Fault, slow bool) {
	touched := completionAPI(method, path) != ""
	if strings.HasPrefix(string(f.fault), "models_") {
		touched = path == "/v1/models"
	}
	if f.limited && touched && f.left.Add(-1) < 0 {
		return FaultNone, false
	}
	return f.fault, f.limited && f.fault == FaultSlow
}

// slowFactor is how many steps a token takes under FaultSlow.
const slowFactor = 20
