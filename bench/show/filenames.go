package show

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// EvalscopeFileName is the name under which evalscope-perf keeps the summary:
// {model}_{dataset}_p{P}.txt, P being the number of users. A data set given by its path is
// named by its file, up to the first dot.
func EvalscopeFileName(model, dataset string, s *result.Step) string {
	dataset, _, _ = strings.Cut(path.Base(dataset), ".")
	return fmt.Sprintf("%s_%s_p%d%s.txt", FileName(model, "model"), FileName(dataset, "dataset"), s.Concurrency, repeatName(s))
}

// VLLMFileName is the name that vLLM gives its result file:
// {backend}-{rate}qps[-concurrency{N}]-{model}-{date}.json, the model without its folders.
func VLLMFileName(run *runlog.Run, s *result.Step, when time.Time) string {
	rate, concurrency := "inf", ""
	if s.Rate > 0 {
		rate = pythonFloat(s.Rate)
	}
	if n := bound(&s.Step); n > 0 {
		concurrency = fmt.Sprintf("-concurrency%d", n)
	}
	return fmt.Sprintf("%s-%sqps%s-%s-%s%s.json", FileName(vllmBackend(run), "accelbench"), rate, concurrency,
		FileName(path.Base(run.Model), "model"), when.Format(vllmDate), repeatName(s))
}

// repeatName tells repeats of one level apart; the first goes without.
func repeatName(s *result.Step) string {
	if s.Repeat == 0 {
		return ""
	}
	return "_r" + strconv.Itoa(s.Repeat+1)
}

const maxNamePart = 80 // bytes of each part of a file name; file systems allow 255

var unsafeInNames = regexp.MustCompile(`[^\pL\pN._-]`)

// FileName makes name fit to be a part of a file name: letters of any script, digits and
// ._- alone, nothing at its start that hides the file or looks like a flag, and 80 bytes
// at most. It is fallback where nothing of name is left.
func FileName(name, fallback string) string {
	name = strings.Trim(unsafeInNames.ReplaceAllString(name, "_"), "._-")
	return cmp.Or(strings.ToValidUTF8(name[:min(len(name), maxNamePart)], ""), fallback)
}
