package result

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// modelLabel is where vLLM says which model a series is of: by the first of its
// served names, whatever a request calls it.
const modelLabel = "model_name"

// ofModel are the series of the model that was asked for, by one of the names it is
// known by. Where the server tells of one model alone it is that one, whatever it is
// called; of several that are all called otherwise it is none. What carries no name
// is of all.
func (w *serverWatch) ofModel(series []runlog.Series) []runlog.Series {
	var told []string
	for _, s := range series {
		if name := s.Labels[modelLabel]; name != "" && !slices.Contains(told, name) {
			told = append(told, name)
		}
	}
	if len(told) == 0 || len(w.asked) == 0 {
		return series
	}
	name := told[0]
	asked := slices.IndexFunc(w.asked, func(name string) bool { return slices.Contains(told, name) })
	switch {
	case asked >= 0:
		name = w.asked[asked]
	case len(told) == 1:
		w.model = name
	default:
		slices.Sort(told)
		w.models = told
		name = ""
	}
	return slices.DeleteFunc(slices.Clone(series), func(s runlog.Series) bool {
		of := s.Labels[modelLabel]
		return of != "" && of != name
	})
}

// modelNames are those that a run's model is known by.
func modelNames(r runlog.Run) []string {
	return slices.DeleteFunc([]string{r.Model, r.ModelPath}, func(name string) bool { return name == "" })
}
