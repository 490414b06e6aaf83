package fakevllm

import (
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// authorized reports whether the request carries the API key, if one is set.
func (s *Server) authorized(r *http.Request) bool {
	if s.cfg.APIKey == "" {
		return true
	}
	want := "Bearer " + s.cfg.APIKey
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) == 1
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	m := styleOf(r)
	names := append([]string{s.cfg.Model}, s.cfg.Aliases...)
	switch m.fault {
	case FaultModels500:
		writeError(w, internalError("no list of models, as asked for"), m)
		return
	case FaultModelsHang:
		s.park(r)
	case FaultModelsEmpty:
		names = nil
	case FaultModelsEvilName:
		names = []string{evilName()}
	}
	cards := make([]any, len(names))
	for i, name := range names {
		card := map[string]any{
			"id": name, "object": "model", "created": time.Now().Unix(), "owned_by": "vllm",
			"root": names[0], "parent": nil, "max_model_len": s.cfg.MaxModelLen, "permission": []any{},
		}
		if m.traits.listsVocabulary && s.cfg.VocabularySize > 0 {
			card["meta"] = map[string]any{"n_vocab": s.cfg.VocabularySize}
		}
		cards[i] = card
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": cards})
}

// evilName is a model name that breaks whoever writes it down unchecked.
func evilName() string {
	return "evil\"} 1\r\n# HELP up\n\\{<b>\u202e模型\x00" + strings.Repeat("x", 4096)
}

// health lies as vLLM's does: it is about the engine's loop, not about answers.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.engine.stopped:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

func (s *Server) version(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"version": styleOf(r).traits.version})
}

// tokenize takes a prompt or messages; in llama.cpp's dialect a text called content,
// and nothing else.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Prompt   string    `json:"prompt"`
		Messages []message `json:"messages"`
		Content  string    `json:"content"`
	}
	t, ok := readTokens(w, r, &req)
	if !ok {
		return
	}
	texts := []string{req.Prompt}
	for _, m := range req.Messages {
		texts = append(texts, string(m.Content))
	}
	if t.tokenizes == "content" {
		texts = []string{req.Content}
	}
	ids := []int32{}
	for _, text := range texts {
		for token := range tokens(text) {
			ids = append(ids, s.lexicon.id(token))
		}
	}
	answer := map[string]any{"tokens": ids}
	if t.tokenizes == "prompt" {
		answer["count"], answer["max_model_len"], answer["token_strs"] = len(ids), s.cfg.MaxModelLen, nil
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Tokens []int32 `json:"tokens"`
	}
	t, ok := readTokens(w, r, &req)
	if !ok {
		return
	}
	var text []byte
	for _, id := range req.Tokens {
		if s.isToken(id) { // others are no text
			text = s.lexicon.appendToken(text, s.lexicon.token(id), len(text) == 0)
		}
	}
	writeJSON(w, http.StatusOK, map[string]string{t.tokenizes: string(text)})
}

// readTokens reads a question about tokens and reports whether it is to be answered.
func readTokens(w http.ResponseWriter, r *http.Request, into any) (traits, bool) {
	m := styleOf(r)
	if m.traits.noTokenizer {
		http.NotFound(w, r)
		return m.traits, false
	}
	failed := readBody(w, r, into)
	if failed != nil {
		writeError(w, failed, m)
	}
	return m.traits, failed == nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	writeBody(w, status, "application/json", quoted(v))
}

// writeBody sends a body of known length; the client may be gone by then.
func writeBody(w http.ResponseWriter, status int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
