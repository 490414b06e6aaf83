package openai

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/common/config"
)

// A token endpoint that does not answer holds nobody longer than the request's own time, and a request after it is not
// refused what this one was.
func TestTokenServerThatHangs(t *testing.T) {
	hang := make(chan struct{})
	asked := make(chan struct{}, 10)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-hang:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"t","token_type":"bearer"}`))
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(tokens.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization"), http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	c := newTestClient(t, Config{BaseURL: server.URL, HTTP: config.HTTPClientConfig{
		OAuth2: &config.OAuth2{ClientID: "id", ClientSecret: "s", TokenURL: tokens.URL},
	}})
	wait := func(ctx context.Context, timeout time.Duration) *Failure {
		t.Helper()
		done := make(chan *Failure, 1)
		go func() { done <- c.Stream(ctx, Request{Timeout: timeout}).Failure }()
		select {
		case f := <-done:
			return f
		case <-time.After(tokenConnTime / 2):
			t.Fatal("the request waits for its token beyond its own time")
			return nil
		}
	}
	if f := wait(t.Context(), 50*time.Millisecond); f == nil || !f.Unsent {
		t.Errorf("with a timeout: %+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	<-asked
	go func() {
		<-asked
		cancel()
	}()
	if f := wait(ctx, patience); f == nil || f.Reason != ReasonCanceled && !f.Unsent {
		t.Errorf("withdrawn: %+v", f)
	}
	close(hang)
	if f := wait(t.Context(), patience); f == nil || f.Status != http.StatusTeapot {
		t.Errorf("when the endpoint answers again: %+v", f)
	}
}
