package kubernetes

import (
	"path"
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
