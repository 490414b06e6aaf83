// Package kubelettest stands in for a kubelet's PodResources in tests.
package kubelettest

import (
	"encoding/binary"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Socket returns a path for a socket, in a folder of its own: a test's own folder can have a name too long for one.
func Socket(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "kubelet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "kubelet.sock")
}

// Serve answers HTTP/2 at a socket until the test ends, and returns the socket.
func Serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	path := Socket(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		_ = server.Close()
		wg.Wait()
	})
	return path
}

// Framed is a message as gRPC sends it.
func Framed(message string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
}

// Answer sends a message and that all is well.
func Answer(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/grpc")
	_, _ = w.Write([]byte(Framed(message)))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

// Refuse sends a status and no message, which stands in the header then.
func Refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Grpc-Status", strconv.Itoa(status))
	w.Header().Set("Grpc-Message", text)
	w.WriteHeader(http.StatusOK)
}

// Field is a field of bytes of a message.
func Field(number protowire.Number, parts ...string) string {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	return string(protowire.AppendString(b, strings.Join(parts, "")))
}

// Pod is a pod of an answer. An answer is its pods, one behind the other.
func Pod(namespace, name string, containers ...string) string {
	return Field(1, Field(1, name), Field(2, namespace), strings.Join(containers, ""))
}

// Container is a container of a pod.
func Container(name string, devices ...string) string {
	return Field(3, Field(1, name), strings.Join(devices, ""))
}

// Devices are those of a container that a device plugin gave it.
func Devices(resource string, ids ...string) string {
	parts := []string{Field(1, resource)}
	for _, id := range ids {
		parts = append(parts, Field(2, id))
	}
	return Field(2, parts...)
}

// Dynamic is a device of a container that a DRA driver gave it, by a ResourceClaim.
func Dynamic(namespace, claim, driver, device string) string {
	return Field(5, Field(2, claim), Field(3, namespace),
		Field(4, Field(1, Field(1, "vendor.example/kind=1")), Field(2, driver), Field(3, "node"), Field(4, device)))
}
