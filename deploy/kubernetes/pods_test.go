package kubernetes

import (
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// pod is what an object makes pods of.
type pod struct {
	owner string
	corev1.PodTemplateSpec
}

func pods(r rendered) []pod {
	var list []pod
	for _, o := range r.objects {
		switch o := o.(type) {
		case *appsv1.DaemonSet:
			list = append(list, pod{o.Name, o.Spec.Template})
		case *appsv1.Deployment:
			list = append(list, pod{o.Name, o.Spec.Template})
		case *batchv1.Job:
			list = append(list, pod{o.Name, o.Spec.Template})
		}
	}
	return list
}

// TestRights: no form gets a token, a namespace of the node's, root or privileges but those that were asked for.
func TestRights(t *testing.T) {
	all := map[string]string{}
	for _, vendor := range vendors {
		all[vendor+" by default"] = image + vendor + ": {enabled: true, nodeSelector: {cards: present}}"
	}
	maps.Copy(all, forms)
	for name, values := range all {
		for _, p := range pods(render(t, values)) {
			if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
				t.Errorf("%s: %s has a token", name, p.owner)
			}
			if p.Spec.HostIPC || p.Spec.HostPID != (name == "ascend" || name == "attribution") || p.Spec.HostNetwork != (name == "cards with probes") {
				t.Errorf("%s: %s: hostIPC %v, hostPID %v, hostNetwork %v", name, p.owner, p.Spec.HostIPC, p.Spec.HostPID, p.Spec.HostNetwork)
			}
			for _, c := range p.Spec.Containers {
				if len(c.Command) != 1 || path.Dir(c.Command[0]) != "/usr/local/bin" {
					continue // none of this project's programs
				}
				privileged := strings.Contains(values, "privileged: true") && !strings.Contains(p.owner, "vllm") && !strings.HasSuffix(p.owner, "moorethreads")
				asRoot := name == "attribution" || strings.Contains(values, "runAsUser: 0") && regexp.MustCompile("(ascend|hygon)$").MatchString(p.owner)
				checkContainer(t, name+": "+p.owner, &c, privileged, asRoot)
			}
		}
	}
}

func checkContainer(t *testing.T, owner string, c *corev1.Container, privileged, asRoot bool) {
	t.Helper()
	want := &corev1.SecurityContext{
		RunAsNonRoot:           new(!asRoot),
		RunAsUser:              c.SecurityContext.RunAsUser,
		RunAsGroup:             c.SecurityContext.RunAsUser,
		ReadOnlyRootFilesystem: new(true),
	}
	if privileged {
		// The API server refuses privileged pods that say they may not escalate, and
		// a seccomp profile would claim what does not hold for them.
		want.Privileged = new(true)
	} else {
		want.AllowPrivilegeEscalation = new(false)
		want.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		want.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	if diff := cmp.Diff(want, c.SecurityContext); diff != "" || (*c.SecurityContext.RunAsUser == 0) != asRoot {
		t.Errorf("%s: runs as root %v; security context (-want +got):\n%s", owner, *c.SecurityContext.RunAsUser == 0, diff)
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: resources %+v", owner, c.Resources)
	}
}
