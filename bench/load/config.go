package load

import (
	"context"
	"encoding/json"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Endpoint is what a load is put on: an [openai.Client].
type Endpoint interface {
	Stream(ctx context.Context, r openai.Request) *openai.Trace
	Models(ctx context.Context) ([]openai.Model, *openai.Failure)
	Tokenize(ctx context.Context, model, text string) ([]int32, *openai.Failure)
	TokenizeChat(ctx context.Context, model string, messages []openai.Message) ([]int32, *openai.Failure)
	LastReceived() time.Time
}

// Config says what to run.
type Config struct {
	Endpoint Endpoint
	// Run is what the log says of the run; its id, host and times are filled in. An empty
	// Model is the first that the endpoint lists.
	Run runlog.Run
	// Steps are taken as they are: whoever makes one has checked it.
	Steps []runlog.Step
	Ask   Ask
	// Dataset makes the prompts; what depends on the run and on the step is filled in.
	Dataset dataset.Config
	// Folder is where the log is made; a number is added where it is there already.
	Folder string
	// FolderSuffix ends Folder's name, given the model in use; nil for none.
	FolderSuffix func(model string) string
	Metrics      Metrics
	// Ready is how long to wait for an endpoint that does not list its models yet.
	Ready time.Duration
	// Lead leads other machines, which put on their shares of each step; nil for a load of one machine.
	Lead *Lead
}

// Ask is what every request asks beside its prompt.
type Ask struct {
	IdleTimeout     time.Duration // without text after the first text, 0 for none
	IgnoreEOS       bool
	ContinuousUsage bool
	TraceParent     bool                       // see [openai.Request.Traced]
	Extra           map[string]json.RawMessage // see [openai.Request.Extra]
}

// Watcher follows a run. Its methods are called one at a time but for StepStarted's meter, which changes meanwhile.
type Watcher interface {
	RunStarted(runlog.Run) // before anything else
	StepStarted(runlog.Step, *Meter)
	RequestDone(*runlog.Request)
	StepEnded(runlog.StepEnd)
}

// Result is how a run ended.
type Result struct {
	Folder               string // of the log
	Stop                 runlog.Stop
	Attempted, Succeeded int // requests
	// Notes are what the user should know beside the report, one sentence each.
	Notes []string
}
