// Package kubernetes tests the Helm chart with Helm's own engine and the types
// of the Kubernetes and Prometheus operator APIs.
package kubernetes

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "accelerator-exporter"
	root        = "../.."
	notes       = "NOTES.txt"
	release     = "test"
	namespace   = "accelerators"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm tells of every symbolic link
	if err := monitoringv1.AddToScheme(scheme.Scheme); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// load reads the chart as helm does.
func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rendered is what a chart became.
type rendered struct {
	texts   []string // of the objects, in the order of their files
	objects []runtime.Object
	notes   string
}

// render renders the chart with values on top of its own, and decodes every
// object strictly: a field that Kubernetes does not know is an error.
func render(t *testing.T, values string) rendered {
	t.Helper()
	r, err := tryRender(load(t), values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryRender(c *chart.Chart, values string) (rendered, error) {
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return rendered{}, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(c, given, options, nil)
	if err != nil {
		return rendered{}, err
	}
	files, err := engine.Engine{}.RenderWithContext(nil, c, top) //nolint:staticcheck // the engine asks nothing without a cluster
	if err != nil {
		return rendered{}, err
	}
	var r rendered
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Base(name) == notes {
			r.notes = files[name]
			continue
		}
		if err := r.add(files[name]); err != nil {
			return rendered{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

// add takes the objects of a file.
func (r *rendered) add(file string) error {
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		serializer.SerializerOptions{Yaml: true, Strict: true})
	for text := range strings.SplitSeq("\n"+file, "\n---") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		object, _, err := strict.Decode([]byte(text), nil, nil)
		if err != nil {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		r.texts = append(r.texts, text)
		r.objects = append(r.objects, object)
	}
	return nil
}

// all returns the objects of one kind.
func all[T runtime.Object](r rendered) []T {
	var list []T
	for _, o := range r.objects {
		if one, ok := o.(T); ok {
			list = append(list, one)
		}
	}
	return list
}

// only returns the one object of a kind.
func only[T runtime.Object](t *testing.T, r rendered) T {
	t.Helper()
	list := all[T](r)
	if len(list) != 1 {
		t.Fatalf("%d objects of type %T, want one", len(list), *new(T))
	}
	return list[0]
}
