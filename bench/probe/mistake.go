package probe

import "github.com/accelerator-exporter/accelerator_exporter/bench/configfile"

// Mistake is one thing that is wrong with a configuration.
type Mistake = configfile.Mistake

// Mistakes are several.
type Mistakes = configfile.Mistakes

// checker looks at a probe of a file.
type checker struct{ *configfile.Checker }

func newChecker(left *int) *checker {
	return &checker{configfile.NewChecker(examples(), left)}
}

// wrong is a mistake in a field, with the example of the field.
func wrong(field, format string, args ...any) Mistake {
	return examples().Wrong(field, format, args...)
}

// examples are right values, as YAML, by field.
func examples() configfile.Examples {
	all := configfile.Examples{
		"name":                      "chat-short",
		"url":                       "http://127.0.0.1:8000",
		"api":                       "chat",
		"model":                     "qwen2.5",
		"interval":                  "30s",
		"timeout":                   "120s",
		"idle_timeout":              "30s",
		"max_tokens":                "64",
		"prompt":                    `"Name three rivers."`,
		"prompt_file":               "prompt.txt",
		"random_input_tokens":       "256",
		"cache_friendly":            "false",
		"slo":                       "{time_to_first_token: 2s}",
		"slo.time_to_first_token":   "2s",
		"slo.time_per_output_token": "100ms",
		"slo.inter_token_latency":   "500ms",
		"slo.request_duration":      "20s",
		"devices":                   `{metax: ["0", "1"]}`,
		"http":                      "{authorization: {credentials_file: key}}",
	}
	for field, example := range configfile.HTTPExamples() {
		all["http."+field] = example
	}
	return all
}
