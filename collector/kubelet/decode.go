package kubelet

import (
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// The most that an answer may tell. A node has some hundred pods, and 32 chips of 16 slices.
const (
	maxPods   = 8192 // ended ones among them, which old kubelets list until they are deleted
	maxClaims = 4096
	maxText   = 253 // bytes, as of any name in Kubernetes
)

// Claim is one device that the kubelet allocated to a container.
type Claim struct {
	Namespace, Pod, Container string
	// Resource is a device plugin's resource, or the name of a DRA driver.
	Resource string
	// ID is what the plugin calls the device, or the name of a device of the driver.
	ID string
	// Dynamic tells the two apart.
	Dynamic bool
	// ResourceClaim is the one by which a device of a driver was allocated; none for a plugin's.
	ResourceClaim ResourceClaim
}

// ResourceClaim names a claim of DRA. Several pods may have one reserved, and share its devices.
type ResourceClaim struct {
	Namespace, Name string
}

// The numbers of the fields, as in kubernetes/kubelet, pkg/apis/podresources/v1/api.proto. v1alpha1 has the same.
const (
	answerPods = 1

	podName       = 1
	podNamespace  = 2
	podContainers = 3

	containerName    = 1
	containerDevices = 2
	containerDynamic = 5

	devicesResource = 1
	devicesIDs      = 2

	dynamicName      = 2
	dynamicNamespace = 3
	dynamicDevices   = 4

	deviceDriver = 2
	deviceName   = 4 // 3 is the pool, which is the node
)

// Decode reads a ListPodResourcesResponse. It keeps the devices of resources and of DRA drivers that wanted says yes
// to, each once for its container, in a stable order. The error is a *failure.Error: parse for what no kubelet
// sends, output_too_large for more than a node can have.
func Decode(answer []byte, wanted func(resource string, dynamic bool) bool) ([]Claim, error) {
	d := decoder{wanted: wanted}
	pods := 0
	err := fields(answer, func(field protowire.Number, value []byte) error {
		if field != answerPods {
			return nil
		}
		if pods++; pods > maxPods {
			return failure.New(failure.OutputTooLarge, "more than %d pods", maxPods)
		}
		return d.pod(value)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(d.claims, compare)
	return slices.Compact(d.claims), nil
}

// decoder collects claims. A message's name may stand behind what it holds, so it is filled in afterwards.
type decoder struct {
	wanted func(resource string, dynamic bool) bool
	claims []Claim
}

func (d *decoder) pod(message []byte) error {
	first, name, namespace := len(d.claims), []byte(nil), []byte(nil)
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case podName:
			name = value
		case podNamespace:
			namespace = value
		case podContainers:
			return d.container(value)
		}
		return nil
	})
	if err != nil || len(d.claims) == first {
		return err
	}
	claims := d.claims[first:]
	pod, err := text("the name of a pod", name)
	if err != nil {
		return err
	}
	space, err := text("the namespace of a pod", namespace)
	if err != nil {
		return err
	}
	for i := range claims {
		claims[i].Pod, claims[i].Namespace = pod, space
	}
	return nil
}

func (d *decoder) container(message []byte) error {
	first, name := len(d.claims), []byte(nil)
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case containerName:
			name = value
		case containerDevices:
			return d.devices(value)
		case containerDynamic:
			return d.dynamic(value)
		}
		return nil
	})
	if err != nil || len(d.claims) == first {
		return err
	}
	container, err := text("the name of a container", name)
	if err != nil {
		return err
	}
	for i := range d.claims[first:] {
		d.claims[first+i].Container = container
	}
	return nil
}

func (d *decoder) devices(message []byte) error {
	var resource []byte
	err := fields(message, func(field protowire.Number, value []byte) error {
		if field == devicesResource {
			resource = value
		}
		return nil
	})
	if err != nil || !d.wanted(string(resource), false) {
		return err
	}
	return fields(message, func(field protowire.Number, value []byte) error {
		if field != devicesIDs {
			return nil
		}
		return d.claim(resource, value, false)
	})
}

func (d *decoder) dynamic(message []byte) error {
	first, name, namespace := len(d.claims), []byte(nil), []byte(nil)
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case dynamicName:
			name = value
		case dynamicNamespace:
			namespace = value
		case dynamicDevices:
			return d.device(value)
		}
		return nil
	})
	if err != nil || len(d.claims) == first {
		return err
	}
	var of ResourceClaim
	if of.Name, err = text("the name of a ResourceClaim", name); err != nil {
		return err
	}
	if of.Namespace, err = text("the namespace of a ResourceClaim", namespace); err != nil {
		return err
	}
	for i := range d.claims[first:] {
		d.claims[first+i].ResourceClaim = of
	}
	return nil
}

// device reads one of a ResourceClaim.
func (d *decoder) device(message []byte) error {
	var driver, name []byte
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case deviceDriver:
			driver = value
		case deviceName:
			name = value
		}
		return nil
	})
	if err != nil || !d.wanted(string(driver), true) {
		return err
	}
	return d.claim(driver, name, true)
}

func (d *decoder) claim(resource, id []byte, dynamic bool) error {
	of, err := text("the name of a resource", resource)
	if err != nil {
		return err
	}
	device, err := text("the id of a device", id)
	if err != nil {
		return err
	}
	if len(d.claims) == maxClaims {
		return failure.New(failure.OutputTooLarge, "more than %d devices of %q and the like", maxClaims, failure.Excerpt(resource))
	}
	d.claims = append(d.claims, Claim{Resource: of, ID: device, Dynamic: dynamic})
	return nil
}

// fields calls read with every field of a message that has bytes. Fields of another kind are skipped, as those are
// whose number nobody knows.
func fields(message []byte, read func(field protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 || field > protowire.MaxValidNumber {
			return failure.New(failure.Parse, "no message of PodResources")
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
				return failure.New(failure.Parse, "a message of PodResources is cut")
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return failure.New(failure.Parse, "a message of PodResources is cut")
		}
		message = message[n:]
		if err := read(field, value); err != nil {
			return err
		}
	}
	return nil
}

// text is a name that can be a label.
func text(what string, name []byte) (string, error) {
	switch {
	case len(name) == 0:
		return "", failure.New(failure.Parse, "%s is empty", what)
	case len(name) > maxText:
		return "", failure.New(failure.Parse, "%s has %d bytes, more than %d", what, len(name), maxText)
	case !utf8.Valid(name):
		return "", failure.New(failure.Parse, "%s is no UTF-8", what)
	}
	return string(name), nil
}
