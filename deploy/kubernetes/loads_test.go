package kubernetes

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// jobSet is what jobset.yaml has of a JobSet.
type jobSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		FailurePolicy struct {
			MaxRestarts int32 `json:"maxRestarts"`
		} `json:"failurePolicy"`
		Network struct {
			EnableDNSHostnames       bool `json:"enableDNSHostnames"`
			PublishNotReadyAddresses bool `json:"publishNotReadyAddresses"`
		} `json:"network"`
		ReplicatedJobs []struct {
			Name     string                  `json:"name"`
			Template batchv1.JobTemplateSpec `json:"template"`
		} `json:"replicatedJobs"`
	} `json:"spec"`
}

// volcanoJob is what volcano.yaml has of a Job of Volcano.
type volcanoJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		SchedulerName string              `json:"schedulerName"`
		MinAvailable  int32               `json:"minAvailable"`
		Plugins       map[string][]string `json:"plugins"`
		Tasks         []struct {
			Name     string                 `json:"name"`
			Replicas int32                  `json:"replicas"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"tasks"`
	} `json:"spec"`
}

// team are the pods of a load test: how many, what they run, the name of the first, and the variable that numbers them.
type team struct {
	machines    int32
	pod         corev1.PodSpec
	first, rank string
}

func chartTeam(t *testing.T) team {
	t.Helper()
	r := render(t, benchmark+"networkPolicy: {enabled: true}\n")
	job, service, policy := only[*batchv1.Job](t, r), all[*corev1.Service](r)[0], only[*networkingv1.NetworkPolicy](t, r)
	pod := labels.Set(job.Spec.Template.Labels)
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion || *job.Spec.Parallelism != *job.Spec.Completions || *job.Spec.BackoffLimit != 0 {
		t.Errorf("the Job's pods are not all there once: %+v", job.Spec)
	}
	if service.Name != job.Spec.Template.Spec.Subdomain || !service.Spec.PublishNotReadyAddresses || !labels.SelectorFromSet(service.Spec.Selector).Matches(pod) {
		t.Errorf("the Service does not name pods %v: %+v", pod, service.Spec)
	}
	if open := policy.Spec.Ingress[1]; open.Ports[0].Port.String() != "lead" || !labels.SelectorFromSet(open.From[0].PodSelector.MatchLabels).Matches(pod) {
		t.Errorf("the pods cannot reach one another: %+v", open)
	}
	if token := only[*corev1.Secret](t, r).Data["token"]; len(token) != 40 {
		t.Errorf("a token of %d letters", len(token))
	}
	first := fmt.Sprintf("%s-0.%s.%s.svc", job.Name, service.Name, service.Namespace)
	return team{*job.Spec.Completions, job.Spec.Template.Spec, first, "JOB_COMPLETION_INDEX"}
}

func jobSetTeam(t *testing.T) team {
	t.Helper()
	var set jobSet
	programtest.NoError(t, yaml.UnmarshalStrict([]byte(programtest.Read(t, "jobset.yaml")), &set))
	job := set.Spec.ReplicatedJobs[0]
	first := fmt.Sprintf("%s-%s-0-0.%s", set.Name, job.Name, set.Name)
	return team{*job.Template.Spec.Completions, job.Template.Spec.Template.Spec, first, "JOB_COMPLETION_INDEX"}
}

func volcanoTeam(t *testing.T) team {
	t.Helper()
	var job volcanoJob
	programtest.NoError(t, yaml.UnmarshalStrict([]byte(programtest.Read(t, "volcano.yaml")), &job))
	task := job.Spec.Tasks[0]
	first := fmt.Sprintf("%s-%s-0.%s", job.Name, task.Name, job.Name)
	return team{task.Replicas, task.Template.Spec, first, "VC_TASK_INDEX"}
}

// cluster has the Secret of an installation.
type cluster struct{ dynamic.Interface }

func (c cluster) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}), true, nil
}

// TestUpgradeKeepsToken: a load test goes on while its release is upgraded.
func TestUpgradeKeepsToken(t *testing.T) {
	installed := only[*corev1.Secret](t, render(t, benchmark))
	c := load(t)
	var given map[string]any
	programtest.NoError(t, yaml.Unmarshal([]byte(benchmark), &given))
	top, err := util.ToRenderValues(c, given, common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 2, IsUpgrade: true}, nil)
	programtest.NoError(t, err)
	files, err := engine.RenderWithClientProvider(c, top, cluster{fake.NewSimpleDynamicClient(scheme.Scheme, installed)})
	programtest.NoError(t, err)
	if text := files[c.Name()+"/templates/benchmark.yaml"]; !strings.Contains(text, "token: "+base64.StdEncoding.EncodeToString(installed.Data["token"])) {
		t.Errorf("the token is another:\n%s", text)
	}
}

// TestLoadTest runs the pods of a load test as processes, as the chart's Job, a JobSet and a Volcano Job start them: they
// find the first by its name, and there is one report of all.
func TestLoadTest(t *testing.T) {
	programs, server := programtest.Build(t), programtest.FreeAddress(t)
	programtest.Start(t, "vllm", exec.Command(filepath.Join(programs, "fakehost"), "vllm", "--listen-address="+server, "--speed=200", "--output-tokens=8"))
	programtest.Eventually(t, time.Minute, "vllm answers", func() error {
		_, err := programtest.Get(t, "http://"+server+"/v1/models")
		return err
	})
	for name, pods := range map[string]team{"chart": chartTeam(t), "JobSet": jobSetTeam(t), "Volcano": volcanoTeam(t)} {
		t.Run(name, func(t *testing.T) { pods.run(t, filepath.Join(programs, "accelbench"), server) })
	}
}

func (p team) run(t *testing.T, program, server string) {
	folder, lead := t.TempDir(), programtest.FreeAddress(t)
	for _, secret := range []string{"token", "lead-token", "api-key"} {
		programtest.Write(t, filepath.Join(folder, secret), secret)
	}
	programtest.Write(t, filepath.Join(folder, "open_qa.jsonl"), strings.Repeat(`{"question": "Where does the train to the sea stop?"}`+"\n", 100))
	args := strings.NewReplacer("--lead="+p.first+":10070", "--lead="+lead, ":10070", lead[strings.LastIndex(lead, ":"):], ":10069", "127.0.0.1:0",
		"http://vllm.models:8000", "http://"+server, "--duration=5m", "--duration=1s", "--output=/results", "--output="+folder,
		"=/etc/accelbench", "="+folder, "=/data", "="+folder).Replace(strings.Join(p.pod.Containers[0].Args, "\n"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for i := range p.machines {
		running.Go(func() {
			run := exec.CommandContext(ctx, program, strings.Split(args, "\n")...)
			run.Env = append(os.Environ(), fmt.Sprintf("%s=%d", p.rank, i))
			out, err := run.CombinedOutput()
			if isReport := strings.Contains(string(out), "from 3 machines"); err != nil || isReport != (i == 0) {
				t.Errorf("pod %d: %v\n%s\n%s", i, err, args, out)
			}
		})
	}
	running.Wait()
	_, output, _ := strings.Cut(args, "--output=")
	output, _, _ = strings.Cut(output, "\n")
	checkReport(t, output)
}

// checkReport wants one report, of all machines and without a request that failed.
func checkReport(t *testing.T, folder string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*", "report.json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("reports %q, %v", paths, err)
	}
	var report struct {
		Runs  []struct{ Rank int }
		Steps []struct {
			Account struct{ Attempted, Succeeded int }
		}
	}
	programtest.NoError(t, json.Unmarshal([]byte(programtest.Read(t, paths[0])), &report))
	for _, step := range report.Steps {
		if a := step.Account; len(report.Runs) != 3 || a.Attempted < 3 || a.Succeeded != a.Attempted {
			t.Errorf("machines %v: %+v", report.Runs, a)
		}
	}
}
