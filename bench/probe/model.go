package probe

import (
	"context"
	"slices"
	"time"

	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const (
	// maxModels is of how many learned models a target has series of their own, from the
	// start or the last reload: a server can make up any number of names.
	maxModels = 8
	// keptModels is how many of the former ones a reload leaves.
	keptModels = 3
	// otherModel is the label of the models beyond.
	otherModel = "other"
)

// learn returns the model to ask for and the label of its series: the configured one, or
// the first that the endpoint lists, asked again after a probe failed.
func (l *loop) learn(ctx context.Context) (model, label string, _ *openai.Failure) {
	l.mu.Lock()
	model, label = l.model, l.label
	ask := model == "" || l.relearn
	l.mu.Unlock()
	if !ask {
		return model, label, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.target.spec.Timeout))
	defer cancel()
	models, failure := l.client.Models(ctx)
	switch {
	case failure != nil && model != "":
		return model, label, nil // the completions may work although the list does not
	case failure != nil:
		return "", "", failure
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.dropUnknown(l.target.Name())
	l.model, l.relearn = models[0], false
	l.relabel(l.labelOf(l.model))
	return l.model, l.label, nil
}

// labelOf is the label of a model's series: its name, or another where there are too
// many names already.
func (l *loop) labelOf(model string) string {
	known := slices.Concat(l.former, []string{l.label})
	known = slices.DeleteFunc(known, func(label string) bool { return label == "" || label == otherModel })
	if len(known) < maxModels || slices.Contains(known, model) {
		return model
	}
	return otherModel
}

// relabel counts under another label from now on. The counters of the one before stay,
// since the failure after which the list was asked again is in them.
func (l *loop) relabel(label string) {
	if label == l.label {
		return
	}
	if l.label != "" {
		l.metrics.dropState(l.target.Name(), l.label)
		l.former = append(slices.Clip(l.former), l.label)
	}
	l.former = slices.DeleteFunc(l.former, func(former string) bool { return former == label })
	l.label = label
	l.metrics.open(l.target, label)
	if label == otherModel && l.model != otherModel {
		level.Warn(l.logger).Log("msg", "the server has named too many models, those that are new count as another",
			"model", l.model, "label", otherModel, "named", maxModels, "hint", "configure the model, or reload the configuration")
	}
}

// renew gives models labels of their own again: a reload is somebody's who looks.
func (l *loop) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.former) > keptModels {
		l.metrics.dropModel(l.target.Name(), l.former[0])
		l.former = l.former[1:]
	}
	l.relearn = l.relearn || l.label == otherModel && l.target.spec.Model == ""
}
