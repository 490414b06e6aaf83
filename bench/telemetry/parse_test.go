package telemetry

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestParse(t *testing.T) {
	label := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		name, text string
		source     runlog.Source
		want       []runlog.Series
		known      bool
	}{
		{
			name:   "vLLM of today",
			source: runlog.SourceServer,
			text: `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 7.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 7.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 1.25
vllm:time_to_first_token_seconds_created{engine="0",model_name="m"} 1.7e9
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="m"} 5.0
vllm:inter_token_latency_seconds_count{engine="0",model_name="m"} 5.0
vllm:e2e_request_latency_seconds_sum{engine="0",model_name="m"} 9.0
python_gc_objects_collected_total{generation="0"} 12.0
`,
			want: []runlog.Series{
				{Name: "vllm:inter_token_latency_seconds_count", Labels: label("engine", "0", "model_name", "m"), Value: 5},
				{Name: "vllm:num_requests_running", Labels: label("engine", "0", "model_name", "m"), Value: 3},
				{Name: "vllm:time_to_first_token_seconds_bucket", Labels: label("engine", "0", "le", "0.001", "model_name", "m"), Value: 0},
				{Name: "vllm:time_to_first_token_seconds_bucket", Labels: label("engine", "0", "le", "+Inf", "model_name", "m"), Value: 7},
				{Name: "vllm:time_to_first_token_seconds_count", Labels: label("engine", "0", "model_name", "m"), Value: 7},
				{Name: "vllm:time_to_first_token_seconds_sum", Labels: label("engine", "0", "model_name", "m"), Value: 1.25},
			},
			known: true,
		},
		{
			name:   "vLLM of early 2025 and MindIE, without types",
			source: runlog.SourceServer,
			text: `vllm:gpu_cache_usage_perc{model_name="m"} 0.5
vllm:gpu_prefix_cache_queries{model_name="m"} 10
num_requests_waiting{model_name="m"} 2
npu_cache_usage_perc{model_name="m"} 0.25
npu_prefix_cache_hit_rate{model_name="m"} 0.75
prompt_tokens_total{model_name="m"} 100 1700000000000`,
			want: []runlog.Series{
				{Name: "npu_cache_usage_perc", Labels: label("model_name", "m"), Value: 0.25},
				{Name: "npu_prefix_cache_hit_rate", Labels: label("model_name", "m"), Value: 0.75},
				{Name: "num_requests_waiting", Labels: label("model_name", "m"), Value: 2},
				{Name: "prompt_tokens_total", Labels: label("model_name", "m"), Value: 100},
				{Name: "vllm:gpu_cache_usage_perc", Labels: label("model_name", "m"), Value: 0.5},
				{Name: "vllm:gpu_prefix_cache_queries", Labels: label("model_name", "m"), Value: 10},
			},
			known: true,
		},
		{
			name:   "what is not wanted cannot spoil what is",
			source: runlog.SourceExporter,
			text:   "broken{line\naccelerator_power_watts{device=\"0\"} 210\r\n\x00\xff garbage\n",
			want:   []runlog.Series{{Name: "accelerator_power_watts", Labels: label("device", "0"), Value: 210}},
			known:  true,
		},
		{
			name:   "no number, a label that nobody reads, too long a label",
			source: runlog.SourceExporter,
			text: "accelerator_power_watts{device=\"0\"} NaN\n" +
				"accelerator_power_watts{device=\"1\"} +Inf\n" +
				"accelerator_power_watts{device=\"1\",uuid=\"GPU-1\"} 4\n" +
				"accelerator_power_watts 1e19\n" +
				"accelerator_power_watts{device=\"" + strings.Repeat("x", maxLabel+1) + "\"} 1\n" +
				"accelerator_power_watts 5\n",
			want:  []runlog.Series{{Name: "accelerator_power_watts", Labels: label("device", "1"), Value: 4}, {Name: "accelerator_power_watts", Value: 5}},
			known: true,
		},
		{
			name:   "an exporter before its first poll",
			source: runlog.SourceExporter,
			text:   "accelerator_collector_success{collector=\"metax\"} 0\n",
			known:  true,
		},
		{
			name:   "another program's metrics",
			source: runlog.SourceExporter,
			text:   "node_load1 0.5\nvllm:num_requests_running 3\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, known, err := parse(strings.NewReader(tt.text), choiceOf(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || known != tt.known {
				t.Errorf("known = %t, want %t; series (-want +got):\n%s", known, tt.known, diff)
			}
		})
	}
}

// A fault in a series that is wanted is told with its line, not passed over: the
// figures made from the rest would be of something else.
func TestParseNamesTheBadLine(t *testing.T) {
	text := "# HELP x y\nnode_load1 1\naccelerator_power_watts{device=\"0\"} much\n"
	_, _, err := parse(strings.NewReader(text), choiceOf(runlog.SourceExporter))
	if err == nil || err.Error() != "reading metrics: line 3 is not in the text format" {
		t.Errorf("parse: %v, want line 3 named and its text left out", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("vllm:num_requests_running{a=\"b\"} 1\n", false)
	f.Add("# TYPE accelerator_power_watts gauge\naccelerator_power_watts{device=\"0\"} 1e3 5\n", true)
	f.Add("accelerator_power_watts{\"x\",device=\"\\n\"} +Inf", true)
	f.Add("{\"accelerator_power_watts\"} 1", true)
	f.Fuzz(func(t *testing.T, text string, cards bool) {
		source := runlog.SourceServer
		if cards {
			source = runlog.SourceExporter
		}
		want := choiceOf(source)
		series, known, err := parse(strings.NewReader(text), want)
		if err != nil && (len(series) > 0 || len(err.Error()) > 200) {
			t.Fatalf("%d series beside error %v", len(series), err)
		}
		for _, s := range series {
			if !known || !want.keeps([]byte(s.Name)) || math.IsNaN(s.Value) || math.Abs(s.Value) > maxValue || len(s.Labels) > 10 {
				t.Fatalf("kept %+v (known %t)", s, known)
			}
		}
	})
}
