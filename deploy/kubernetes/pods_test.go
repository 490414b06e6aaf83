package kubernetes

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// pod is what an object makes pods of.
type pod struct {
	owner    string
	selector map[string]string // nil for a Job, which makes its own
	corev1.PodTemplateSpec
}

func pods(r rendered) []pod {
	var list []pod
	for _, o := range r.objects {
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			list = append(list, pod{o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template})
		case *appsv1.Deployment:
			list = append(list, pod{o.Name, o.Spec.Selector.MatchLabels, o.Spec.Template})
		case *batchv1.Job:
			list = append(list, pod{o.Name, nil, o.Spec.Template})
		}
	}
	return list
}

// ours says whether the container runs one of this project's programs.
func ours(c *corev1.Container) bool {
	return len(c.Command) == 1 && path.Dir(c.Command[0]) == "/usr/local/bin"
}

// TestRights: what each form may do on its node.
func TestRights(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			for _, p := range pods(render(t, f.values)) {
				if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
					t.Errorf("%s has a token", p.owner)
				}
				if p.Spec.HostIPC || p.Spec.HostPID != (f.name == "ascend" || f.name == "attribution") || p.Spec.HostNetwork != (f.name == "cards with probes") {
					t.Errorf("%s: hostIPC %v, hostPID %v, hostNetwork %v", p.owner, p.Spec.HostIPC, p.Spec.HostPID, p.Spec.HostNetwork)
				}
				for _, c := range p.Spec.Containers {
					if !ours(&c) {
						continue
					}
					asked := strings.Contains(f.values, "privileged: true") && !strings.Contains(p.owner, "vllm")
					asRoot := f.name == "attribution" || strings.Contains(f.values, "runAsUser: 0") && strings.HasSuffix(p.owner, "ascend")
					checkContainer(t, p.owner, &c, asked, asRoot)
				}
			}
		})
	}
}

func checkContainer(t *testing.T, owner string, c *corev1.Container, privileged, asRoot bool) {
	t.Helper()
	s := c.SecurityContext
	switch {
	case s == nil || s.RunAsNonRoot == nil || s.RunAsUser == nil || s.ReadOnlyRootFilesystem == nil:
		t.Fatalf("%s: security context %+v", owner, s)
	case *s.RunAsNonRoot == asRoot || (*s.RunAsUser == 0) != asRoot:
		t.Errorf("%s runs as %d, non-root %v", owner, *s.RunAsUser, *s.RunAsNonRoot)
	case !*s.ReadOnlyRootFilesystem:
		t.Errorf("%s may write to its root", owner)
	}
	if privileged {
		// The API server refuses privileged pods that say they may not escalate, and
		// a seccomp profile would claim what does not hold for them.
		if s.Privileged == nil || !*s.Privileged || s.AllowPrivilegeEscalation != nil || s.SeccompProfile != nil {
			t.Errorf("%s: %+v", owner, s)
		}
	} else {
		none := &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		if s.Privileged != nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || cmp.Diff(none, s.Capabilities) != "" ||
			s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %+v", owner, s)
		}
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: resources %+v", owner, c.Resources)
	}
}

// TestDefaultsGrantNothing: a form that is switched on and no more gets no
// privilege, no namespace of the node's and no root.
func TestDefaultsGrantNothing(t *testing.T) {
	for _, vendor := range []string{"metax", "ascend"} {
		for _, p := range pods(render(t, image+vendor+": {enabled: true}")) {
			checkContainer(t, p.owner, &p.Spec.Containers[0], false, false)
			if p.Spec.HostPID || p.Spec.HostNetwork || p.Spec.SecurityContext != nil {
				t.Errorf("%s: %+v", p.owner, p.Spec)
			}
		}
	}
}

// TestAttribution: what the pods of cards get for it, and only then: the kubelet's folder rather than its socket, which
// the kubelet renews, and the node's processes in one of two ways.
func TestAttribution(t *testing.T) {
	for _, tc := range []struct {
		values  string
		hostPID bool
		mounts  []string // of the node's paths that attribution takes
		args    []string
	}{
		{"{}", false, nil, nil},
		{
			"{enabled: true}", true,
			[]string{"/var/log/pods at /var/log/pods", "/var/lib/kubelet/pod-resources at /var/lib/kubelet/pod-resources"},
			[]string{"--kubernetes.pod-logs=/var/log/pods", "--kubernetes.pod-resources=/var/lib/kubelet/pod-resources/kubelet.sock"},
		},
		{
			"{enabled: true, procfs: mount, podLogs: /data/logs/pods, podResources: /data/kubelet/pod-resources, trustDeviceIDs: [ascend]}", false,
			[]string{"/data/logs/pods at /var/log/pods", "/data/kubelet/pod-resources at /var/lib/kubelet/pod-resources", "/proc at /host/proc"},
			[]string{
				"--kubernetes.pod-logs=/var/log/pods", "--kubernetes.pod-resources=/var/lib/kubelet/pod-resources/kubelet.sock",
				"--path.procfs=/host/proc", "--kubernetes.trust-device-ids=ascend",
			},
		},
	} {
		p := pods(render(t, image+"ascend: {enabled: true}\nattribution: "+tc.values))[0]
		c := p.Spec.Containers[0]
		var mounts, args []string
		for _, m := range c.VolumeMounts {
			for _, v := range p.Spec.Volumes {
				ours := strings.HasPrefix(m.Name, "host-pod-") || m.Name == "host-proc"
				if v.Name == m.Name && ours {
					mounts = append(mounts, v.HostPath.Path+" at "+m.MountPath)
				}
			}
		}
		for _, a := range c.Args {
			if strings.HasPrefix(a, "--kubernetes.") || strings.HasPrefix(a, "--path.") {
				args = append(args, a)
			}
		}
		if diff := cmp.Diff([]any{tc.hostPID, tc.mounts, tc.args}, []any{p.Spec.HostPID, mounts, args}); diff != "" {
			t.Errorf("%s: host processes, mounts, flags (-want +got):\n%s", tc.values, diff)
		}
		checkContainer(t, p.owner, &c, false, tc.mounts != nil)
	}
}

// TestVolumes: each mount has its volume and each volume a mount; the node's files
// are read-only, and checked to be there rather than made. Secrets for probes are
// in the pods that probe, and in no others.
func TestVolumes(t *testing.T) {
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			for _, p := range pods(render(t, f.values)) {
				var volumes, mounted []string
				host := map[string]bool{}
				for _, v := range p.Spec.Volumes {
					volumes = append(volumes, v.Name)
					host[v.Name] = v.HostPath != nil
					if h := v.HostPath; h != nil && (h.Type == nil || *h.Type != corev1.HostPathDirectory && *h.Type != corev1.HostPathFile) {
						t.Errorf("%s: %s would be made on a node without it", p.owner, h.Path)
					}
				}
				paths := map[string]string{}
				for _, c := range p.Spec.Containers {
					for _, m := range c.VolumeMounts {
						mounted = append(mounted, m.Name)
						if host[m.Name] && !m.ReadOnly {
							t.Errorf("%s may write to the node's %s", p.owner, m.MountPath)
						}
						if other, twice := paths[c.Name+m.MountPath]; twice {
							t.Errorf("%s: %s and %s are both at %s", p.owner, other, m.Name, m.MountPath)
						}
						paths[c.Name+m.MountPath] = m.Name
					}
				}
				checkSecrets(t, &p)
				slices.Sort(volumes)
				slices.Sort(mounted)
				if diff := cmp.Diff(volumes, slices.Compact(mounted)); diff != "" {
					t.Errorf("%s: -volumes +mounts\n%s", p.owner, diff)
				}
			}
		})
	}
}

func checkSecrets(t *testing.T, p *pod) {
	t.Helper()
	for _, c := range p.Spec.Containers {
		probes, secrets := false, 0
		for _, m := range c.VolumeMounts {
			probes = probes || m.MountPath == "/etc/accelerator_exporter/config"
			if strings.HasPrefix(m.MountPath, "/etc/accelerator_exporter/secrets/") {
				secrets++
			}
		}
		if secrets > 0 && !probes {
			t.Errorf("%s has %d secrets, and no probe that could need them", p.owner, secrets)
		}
	}
}

// TestSecretsWhereProbesAre: of cards and prober in one release only the prober has
// the keys.
func TestSecretsWhereProbesAre(t *testing.T) {
	got := map[string]int{}
	for _, p := range pods(render(t, prober+strings.TrimPrefix(both, image))) {
		checkSecrets(t, &p)
		got[p.owner] = 0
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil {
				got[p.owner]++
			}
		}
	}
	want := map[string]int{full + "-metax": 0, full + "-ascend": 0, full + "-prober": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("secrets of each (-want +got):\n%s", diff)
	}
}

// TestChartReleaseRenewsNothing: a newer chart with the same image and values makes
// the same pods, so that no model is loaded anew for it.
func TestChartReleaseRenewsNothing(t *testing.T) {
	values := scrapedAs("ServiceMonitor") + "commonLabels: {team: ml}\n"
	newer := load(t)
	newer.Metadata.Version = "99.0.0"
	after, err := tryRender(newer, values)
	if err != nil {
		t.Fatal(err)
	}
	before := render(t, values)
	if cmp.Equal(before.texts, after.texts) {
		t.Error("the newer chart shows nowhere")
	}
	if diff := cmp.Diff(pods(before), pods(after), cmp.AllowUnexported(pod{})); diff != "" {
		t.Errorf("-before +with the newer chart:\n%s", diff)
	}
	for _, p := range pods(before) {
		if job := strings.Contains(p.owner, "exporter-a"); !job && p.Labels["team"] != "ml" {
			t.Errorf("%s lacks the common labels: %v", p.owner, p.Labels)
		}
	}
}

// TestOneVLLMAtATime: an update ends an old pod before it makes the new one, which
// needs its cards, and leaves the other replicas alone meanwhile.
func TestOneVLLMAtATime(t *testing.T) {
	got := only[*appsv1.Deployment](t, render(t, sidecar)).Spec.Strategy
	if u := got.RollingUpdate; u == nil || u.MaxSurge.IntVal != 0 || u.MaxUnavailable.IntVal != 1 || u.MaxSurge.StrVal+u.MaxUnavailable.StrVal != "" {
		t.Errorf("strategy %+v", got)
	}
}

// TestDeadlines: the report outlasts the load, and its own Job outlasts its waiting.
func TestDeadlines(t *testing.T) {
	for values, want := range map[string][3]int64{ // load, waiting, report
		"":                       {14400, 14460, 15060},
		"deadlineSeconds: 60":    {60, 120, 720},
		"awaitSeconds: 600":      {14400, 600, 1200},
		"awaitSeconds: 50000":    {14400, 50000, 50600},
		"deadlineSeconds: 60000": {60000, 60060, 60660},
	} {
		jobs := all[*batchv1.Job](render(t, benchmark+"  "+values+"\n"))
		args := strings.Join(jobs[1].Spec.Template.Spec.Containers[0].Args, " ")
		if *jobs[0].Spec.ActiveDeadlineSeconds != want[0] || !strings.Contains(args, fmt.Sprintf("--await=%ds ", want[1])) || *jobs[1].Spec.ActiveDeadlineSeconds != want[2] {
			t.Errorf("%s: load ends after %d s, report after %d s, %s; want %v", values, *jobs[0].Spec.ActiveDeadlineSeconds, *jobs[1].Spec.ActiveDeadlineSeconds, args, want)
		}
	}
}

// TestMountsHideNoProgram: what a node gives must not lie over the image's own.
func TestMountsHideNoProgram(t *testing.T) {
	for _, p := range pods(render(t, both)) {
		for _, c := range p.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if strings.HasPrefix(c.Command[0]+"/", m.MountPath+"/") {
					t.Errorf("%s: %s hides %s", p.owner, m.MountPath, c.Command[0])
				}
			}
		}
	}
}

// TestGuarded: with TLS or passwords on the port the kubelet only connects to it,
// as it has neither.
func TestGuarded(t *testing.T) {
	c := only[*appsv1.Deployment](t, render(t, guarded)).Spec.Template.Spec.Containers[0]
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if probe.TCPSocket == nil || probe.HTTPGet != nil {
			t.Errorf("%+v", probe)
		}
	}
	if !slices.Contains(c.Args, "--web.config.file=/etc/accelerator_exporter/web/web.yml") {
		t.Errorf("args %q", c.Args)
	}
}

// TestNewProbesRenewPods: the exporter reads its probes at the start.
func TestNewProbesRenewPods(t *testing.T) {
	for name, values := range map[string]string{"prober": prober, "cards with probes": hostNode, "sidecar": sidecar} {
		change := strings.NewReplacer("interval: 1m", "interval: 2m", "127.0.0.1:8000", "127.0.0.1:8001").Replace(values)
		if name == "sidecar" {
			change += `sidecar: {probes: [{url: "http://127.0.0.1:8001"}]}`
		}
		before, after := pods(render(t, values))[0].Annotations, pods(render(t, change))[0].Annotations
		if before["checksum/probes"] == "" || before["checksum/probes"] == after["checksum/probes"] {
			t.Errorf("%s: annotations %v, then %v", name, before, after)
		}
	}
}
