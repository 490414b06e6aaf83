package load

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(serveEnv); address != "" {
		serveSide(address)
	}
	goleak.VerifyTestMain(m)
}
