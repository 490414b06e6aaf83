package main

import (
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// The names by which a command line of vLLM's tool is known.
const (
	numPrompts  = "num-prompts"
	datasetName = "dataset-name"
)

// What other tools ask for where their command lines do not say.
const (
	vllmCustomOutput         = 256 // --custom-output-len
	evalscopeMaxPromptLength = 256 // evalscope-perf 1.0.0
	evalscopeTimeout         = 30 * time.Second
	evalscopeStop            = "<|im_end|>"
)

// runSettings are the flags of a run as given.
type runSettings struct {
	endpoint endpointFlags
	load     loadFlags
	data     dataFlags
	ask      askFlags
	out      outputFlags
	render   renderFlags
	foreign  []foreignFlag
	groups   *flagGroups
}

// endpointFlags say where the endpoint is and how to talk to it.
type endpointFlags struct {
	positional struct{ url, model, dataset string }

	urls, backends, patience      aliases // names of --url, --backend, --ready-timeout
	url, host, path, backend, api string
	port                          int
	model, served                 string
	modules                       names
	assignment                    string
	ready                         seconds
	apiKeyFile, httpConfig        string
	headers                       pairs
	insecure, unchecked           bool
}

func (e *endpointFlags) register(c flagSet, args *kingpin.CmdClause) {
	args.Arg("URL", "Endpoint, as evalscope-perf takes it: with its full path.").StringVar(&e.positional.url)
	args.Arg("MODEL", "Model, as evalscope-perf takes it.").StringVar(&e.positional.model)
	args.Arg("DATASET", "File with prompts, as evalscope-perf takes it.").SetValue((*path)(&e.positional.dataset))
	e.urls.flag(c, "Endpoint: a base URL such as http://127.0.0.1:8000, or with the full path.",
		func(f *kingpin.FlagClause) { f.StringVar(&e.url) }, "url", "base-url")
	c.Flag("host", "Host, where no URL is given.").Default("127.0.0.1").StringVar(&e.host)
	c.Flag("port", "Port, where no URL is given.").Default("8000").IntVar(&e.port)
	c.Flag("endpoint", "Path of the API, as vLLM calls it: /v1/completions or /v1/chat/completions.").StringVar(&e.path)
	e.backends.flag(c, "vLLM's name for the API: vllm and openai are completions, openai-chat is chat.",
		func(f *kingpin.FlagClause) { f.SetValue(known{&e.backend, []string{"vllm", "openai", "openai-chat"}}) }, "backend", "endpoint-type")
	c.Flag("api", "API to use: chat or completions. Default: as the URL or the backend says, else chat; completions on a command line of vLLM's tool.").
		SetValue(known{&e.api, []string{string(openai.Chat), string(openai.Completions)}})
	c.Flag("model", "Model to ask for. Default: the first that the server lists.").StringVar(&e.model)
	c.Flag("served-model-name", "Model to ask for where --model is the path of its files.").StringVar(&e.served)
	value(c.Flag("lora-modules", "LoRA modules to ask for in place of the model, one a request; repeatable."), &e.modules)
	e.assignment = string(runlog.LoRARandom)
	value(c.Flag("lora-assignment", "Which module a request asks for: random, by --seed, or round-robin. Default: random."),
		choice{into: &e.assignment, all: []string{string(runlog.LoRARandom), string(runlog.LoRARoundRobin)}})
	c.Flag("api-key-file", "File with the API key. Default: the environment's OPENAI_API_KEY.").SetValue((*path)(&e.apiKeyFile))
	c.Flag("http-config", "YAML file with Prometheus' HTTP client configuration: TLS, client certificate, proxy, OAuth 2.").SetValue((*path)(&e.httpConfig))
	value(c.Flag("header", "Header to send, KEY=VALUE; repeatable."), &e.headers)
	c.Flag("insecure", "Do not verify the server's certificate.").BoolVar(&e.insecure)
	e.patience.flag(c, "Longest wait for a server that does not list its models yet, such as 10m. Default: none.",
		func(f *kingpin.FlagClause) { value(f, &e.ready) }, "ready-timeout", "ready-check-timeout-sec")
	c.Flag("unchecked", "Do not ask first whether the server is there and serves the model, if one is named.").BoolVar(&e.unchecked)
}

// loadFlags say how many requests come when.
type loadFlags struct {
	counts, users, limits aliases // names of --requests, --concurrency, --timeout
	warm                  aliases // names of --warmup-requests
	warmups               int
	rise                  string
	riseFrom, riseTo      float64 // requests a second
	riseFromSet           bool
	riseToSet             bool
	concurrency           levels
	maxConcurrency        int
	rates                 rates
	burstiness            string
	burstinessSet         bool
	requests              int
	duration, rampUp      seconds
	rampUpSet             bool
	timeout, idleTimeout  seconds
	maxFailureRatio       float64
	repeat                int
	repeatSet             bool
	seed                  uint64
	machine               string
}

func (l *loadFlags) register(c flagSet) {
	l.users.flag(c, "Closed loop: users that each wait for their answer; a list is a sweep. Default: 1; on a command line of vLLM's tool all requests at once.",
		func(f *kingpin.FlagClause) { value(f, &l.concurrency) }, "concurrency", "parallels", "parallel")
	c.Flag("max-concurrency", "Most requests in flight. Without a rate it is a closed loop of so many users.").IntVar(&l.maxConcurrency)
	value(c.Flag("request-rate", "Open loop: requests a second, whatever the server does; a list is a sweep, inf sends all at once."), &l.rates)
	c.Flag("burstiness", "Shape of the gaps between requests: 1 is Poisson, below 1 burstier, above 1 more even, inf constant.").
		Default("1").IsSetByUser(&l.burstinessSet).StringVar(&l.burstiness)
	value(c.Flag("ramp-up-strategy", "Raise the rate of an open loop from the first request to the last: linear or exponential; in place of --request-rate."),
		choice{into: &l.rise, all: []string{string(runlog.RiseLinear), string(runlog.RiseExponential)}})
	c.Flag("ramp-up-start-rps", "Requests a second at the first request of such a load.").IsSetByUser(&l.riseFromSet).Float64Var(&l.riseFrom)
	c.Flag("ramp-up-end-rps", "Requests a second at the last.").IsSetByUser(&l.riseToSet).Float64Var(&l.riseTo)
	l.counts.flag(c, "Requests of each step. Default: 1000, without limit if there is a --duration.",
		func(f *kingpin.FlagClause) { f.IntVar(&l.requests) }, "requests", "n", "number", numPrompts)
	l.warm.flag(c, "Requests before each step, to warm up: they are in no figure. Default: none.",
		func(f *kingpin.FlagClause) { f.IntVar(&l.warmups) }, "warmup-requests", "num-warmups", "warmup-num")
	value(c.Flag("duration", "Time for which a step sends requests."), &l.duration)
	value(c.Flag("ramp-up", "Time over which users start, or the rate rises; 0 is all at once. Default: 20ms a user, none for a rate.").
		IsSetByUser(&l.rampUpSet), &l.rampUp)
	l.timeout, l.idleTimeout = seconds(10*time.Minute), seconds(0)
	l.limits.flag(c, "Longest duration of a request, such as 2m or 120 (seconds); 0 for none. Default: 10m; on a command line of evalscope-perf 30s, as there.",
		func(f *kingpin.FlagClause) { value(f, &l.timeout) }, "timeout", "read-timeout")
	value(c.Flag("idle-timeout", "Longest silence after the first text. Default: none."), &l.idleTimeout)
	c.Flag("max-failure-ratio", "Stop when a larger share of the requests fails, up to 1, and exit with 3; 0 for never.").Default("0").Float64Var(&l.maxFailureRatio)
	c.Flag("repeat", "Times the whole sweep is run, for a comparison.").Default("1").IsSetByUser(&l.repeatSet).IntVar(&l.repeat)
	c.Flag("seed", "Decides prompts and gaps.").Default("0").Uint64Var(&l.seed)
	c.Flag("machine", "Name of this load generator among several of one load, whose gaps must differ. Default: JOB_COMPLETION_INDEX, else the host's name.").
		Envar("JOB_COMPLETION_INDEX").StringVar(&l.machine)
}

// dataFlags say where the prompts come from.
type dataFlags struct {
	kinds, inputs, paths aliases // names of --dataset, --input-len, --dataset-path
	kind, path           string
	minPrompt, maxPrompt int
	maxPromptSet         bool
	maxBad               int
	reuse                bool
	inputLen             int
	randomOutputLen      int
	outputLen            int
	rangeRatio           ratio
	prefixLen            int
	vocabulary           int
	sharedPrefixes       int
	sharedPrefixLen      int
	sharedSuffixLen      int
	sharedOutputLen      int
	shareGPTOutputLen    int
	customOutputLen      int
	customOutputSet      bool
	trace                traceFlags
}

func (d *dataFlags) register(c flagSet) {
	kinds := make([]string, 0, 8)
	for _, k := range dataset.Kinds() {
		kinds = append(kinds, string(k))
	}
	d.kinds.flag(c, "Kind of prompts: "+strings.Join(kinds, ", ")+". Default: as the file looks, random without a file.",
		func(f *kingpin.FlagClause) { f.SetValue(known{&d.kind, kinds}) }, "dataset", datasetName)
	d.paths.flag(c, "File with the prompts.", func(f *kingpin.FlagClause) { f.SetValue((*path)(&d.path)) }, "dataset-path")
	c.Flag("min-prompt-length", "Skip prompts with fewer characters.").IntVar(&d.minPrompt)
	c.Flag("max-prompt-length", "Skip prompts with more characters, 0 for none. Default: none; on a command line of evalscope-perf 256, as there.").IsSetByUser(&d.maxPromptSet).IntVar(&d.maxPrompt)
	c.Flag("max-bad-records", "Records that may be unusable before the run stops.").Default("100").IntVar(&d.maxBad)
	c.Flag("reuse-prompts", "Send prompts as they are, each step the same ones, although the server may have them in its cache.").BoolVar(&d.reuse)
	d.inputs.flag(c, "Tokens of a random prompt: exactly as token ids or where the server tokenizes, else estimated.", func(f *kingpin.FlagClause) { f.Default("1024").IntVar(&d.inputLen) }, "input-len", "random-input-len")
	c.Flag("random-output-len", "Tokens of the answer to a random prompt.").Default("128").IntVar(&d.randomOutputLen)
	c.Flag("output-len", "Tokens of an answer, whatever the data set says.").IntVar(&d.outputLen)
	c.Flag("sharegpt-output-len", "Tokens of an answer to a question of ShareGPT.").IntVar(&d.shareGPTOutputLen)
	c.Flag("custom-output-len", "Tokens of an answer to a prompt of kind custom; -1 as its record says. Default: -1; 256 for --dataset-name, as vLLM's tool has it.").
		IsSetByUser(&d.customOutputSet).IntVar(&d.customOutputLen)
	value(c.Flag("random-range-ratio", "Spread of random lengths: uniform within so large a share of them, 0 to below 1.").Default("0"), &d.rangeRatio)
	c.Flag("random-prefix-len", "Tokens that all random prompts share at their start.").Default("0").IntVar(&d.prefixLen)
	c.Flag("random-vocabulary-size", "Token ids of random prompts go from 1000 to below it, or below the model's vocabulary where the server tells that that is smaller.").Default("30000").IntVar(&d.vocabulary)
	c.Flag("prefix-repetition-num-prefixes", "Different shared prefixes.").Default("10").IntVar(&d.sharedPrefixes)
	c.Flag("prefix-repetition-prefix-len", "Tokens of a shared prefix.").Default("256").IntVar(&d.sharedPrefixLen)
	c.Flag("prefix-repetition-suffix-len", "Tokens after a shared prefix.").Default("256").IntVar(&d.sharedSuffixLen)
	c.Flag("prefix-repetition-output-len", "Tokens of the answer after a shared prefix.").Default("128").IntVar(&d.sharedOutputLen)
	d.trace.register(c)
}

// askFlags say what a request asks beside its prompt.
type askFlags struct {
	maxTokens                  int
	ignoreEOS, continuousUsage bool
	sampling                   map[string]*string // members of the body by their flags
	chatTemplate               string
	stop                       []string
	extra                      string
	logprobs                   int
	logprobsSet                bool
	idPrefix                   string
}

func (a *askFlags) register(c flagSet) {
	c.Flag("max-tokens", "Most tokens of an answer, whatever the data set says. Default: what that says, else the server's own limit.").IntVar(&a.maxTokens)
	c.Flag("ignore-eos", "Have the server generate to the limit of tokens (vLLM).").BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for the usage with every chunk, for ITL a token (vLLM, SGLang).").BoolVar(&a.continuousUsage)
	a.sampling = map[string]*string{}
	for _, name := range []string{"temperature", "top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty"} {
		a.sampling[name] = c.Flag(name, "Sampling: "+name+". Default: "+map[bool]string{true: "0.", false: "the server's."}[name == "temperature"]).String()
	}
	c.Flag("chat-template-kwargs", "JSON object of arguments for the chat template (vLLM).").StringVar(&a.chatTemplate)
	c.Flag("logprobs", "Alternatives to each token that the server tells with their probabilities. Default: none.").
		IsSetByUser(&a.logprobsSet).IntVar(&a.logprobs)
	c.Flag("stop", "Text at which an answer ends; repeatable. Default: none; on a command line of evalscope-perf <|im_end|>, as there.").StringsVar(&a.stop)
	c.Flag("extra-body", "JSON object whose members are added to every request.").StringVar(&a.extra)
	c.Flag("request-id-prefix", "Start of each X-Request-Id, before the numbers of step and request. Default: random ones.").StringVar(&a.idPrefix)
}
