package dataset

// The bounds on a question of ShareGPT and its answer, in tokens, are those of vLLM
// (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
)

// shareGPT is a file of conversations: the first question and the length of its answer.
var shareGPT = kind{
	name: ShareGPT, keys: []string{"conversations"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"conversations": [{"value": "…"}, {"value": "…"}]}`, conversationRecord)
	},
}

// conversationRecord takes the first turn for the question and the second for its
// answer, as vLLM does. A conversation without one gives no prompt.
func conversationRecord(v struct {
	Conversations []struct {
		Value string `json:"value"`
	} `json:"conversations"`
},
) (Record, error) {
	if len(v.Conversations) < 2 || v.Conversations[1].Value == "" {
		return Record{}, nil
	}
	return Record{prompt: Prompt{Text: v.Conversations[0].Value}, answers: []string{v.Conversations[1].Value}}, nil
}
