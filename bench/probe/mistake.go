package probe

import (
	"reflect"

	"github.com/accelerator-exporter/accelerator_exporter/bench/configfile"
)

// Mistake is one thing that is wrong with a configuration.
type Mistake = configfile.Mistake

// Mistakes are several.
type Mistakes = configfile.Mistakes

// checker looks at a probe of a file.
type checker struct{ *configfile.Checker }

func newChecker(left *int) *checker {
	return &checker{configfile.NewChecker(examples(), left)}
}

// mistake is one in a field, with the example of the field.
func mistake(field, format string, args ...any) Mistake {
	return examples().Wrong(field, format, args...)
}

// examples are right values, as YAML, by field.
func examples() configfile.Examples {
	all := configfile.Examples{}
	for field, example := range configfile.HTTPExamples() {
		all["http."+field] = example
	}
	add := func(prefix string, t reflect.Type) {
		for _, f := range reflect.VisibleFields(t) {
			all[prefix+f.Tag.Get("yaml")] = f.Tag.Get("example")
		}
	}
	add("", reflect.TypeFor[Spec]())
	add("slo.", reflect.TypeFor[SLO]())
	return all
}
