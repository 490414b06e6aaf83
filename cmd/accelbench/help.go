package main

import (
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// examples are what help shows of the commonest uses.
const examples = `Examples:
  Sweep of 8, 16 and 32 users who each wait for their answer, with a file of
  questions:
    accelbench run --url http://127.0.0.1:8000 \
      --dataset-path open_qa.jsonl --concurrency 8,16,32 --requests 500

  Open loop of 4 requests a second for 10 minutes, with the cards beside it:
    accelbench run --url http://127.0.0.1:8000 \
      --dataset-path open_qa.jsonl --request-rate 4 --duration 10m \
      --exporter http://127.0.0.1:10068/metrics

  A command line of vLLM's tool, as it is:
    accelbench run --backend vllm --model qwen2.5 \
      --dataset-name sharegpt --dataset-path sharegpt.json \
      --base-url http://127.0.0.1:8000 --num-prompts 1000
`

// helpTemplate is kingpin's default, with the flags of a command in their groups.
const helpTemplate = `{{define "Usage" -}}
{{if .FlagSummary}} {{.FlagSummary}}{{end -}}
{{range .Args}} {{if not .Required}}[{{end}}<{{.Name}}>{{if .Value|IsCumulative}}...{{end}}{{if not .Required}}]{{end}}{{end -}}
{{if .Commands}} <command> [<args> ...]{{end}}

{{.Help|Wrap 0 -}}
{{end -}}
{{$command := .Context.SelectedCommand -}}
{{if $command -}}
usage: {{.App.Name}} {{$command}}{{template "Usage" $command}}
{{range Grouped $command.Name .Context.Flags -}}
{{.Title}}:
{{.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{with .Context.Args -}}
Args:
{{.|ArgsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{if HasExamples $command.Name}}{{Examples}}{{end -}}
{{else -}}
usage: {{.App.Name}}{{template "Usage" .App}}
Commands:
{{CommandRows .App|FormatTwoColumns}}
Flags of run, which accelbench run --help explains:
{{FlagRows .App|FormatTwoColumns}}
{{Examples}}
Flags of every command:
{{.Context.Flags|FlagsToTwoColumns|FormatTwoColumns -}}
{{end -}}
`

// helpGroup is a title of help with what stands under it.
type helpGroup struct {
	Title string
	Flags []*kingpin.FlagModel
}

// setHelp has help show the flags of run in their groups.
func setHelp(app *kingpin.Application, run *flagGroups) {
	app.UsageTemplate(helpTemplate)
	grouped := func(command string, flags []*kingpin.FlagModel) []helpGroup {
		if command != runCommand {
			return []helpGroup{{"Flags", flags}}
		}
		return run.split(flags)
	}
	app.UsageFuncs(map[string]any{
		"Examples":    func() string { return examples },
		"HasExamples": func(command string) bool { return command == runCommand },
		"Grouped":     grouped,
		"CommandRows": func(app *kingpin.ApplicationModel) [][2]string {
			var rows [][2]string
			for _, c := range app.Commands {
				if !c.Hidden {
					rows = append(rows, [2]string{c.Name, c.Help})
				}
			}
			return rows
		},
		"FlagRows": func(app *kingpin.ApplicationModel) [][2]string {
			var rows [][2]string
			for _, c := range app.Commands {
				if c.Name != runCommand {
					continue
				}
				for _, g := range run.split(c.Flags) {
					rows = append(rows, [2]string{g.Title, g.names()})
				}
			}
			return rows
		},
	})
}

// split puts flags under the titles of their groups, those without one under Other.
func (g *flagGroups) split(flags []*kingpin.FlagModel) []helpGroup {
	const other = "Other"
	byTitle := map[string][]*kingpin.FlagModel{}
	for _, f := range flags {
		title := other
		if t, ok := g.of[f.Name]; ok {
			title = t
		}
		if !f.Hidden {
			byTitle[title] = append(byTitle[title], f)
		}
	}
	var groups []helpGroup
	for _, title := range append(g.titles, other) {
		if len(byTitle[title]) > 0 {
			groups = append(groups, helpGroup{title, byTitle[title]})
		}
	}
	return groups
}

// names are the flags of the group in one text.
func (g helpGroup) names() string {
	names := make([]string, 0, len(g.Flags))
	for _, f := range g.Flags {
		names = append(names, "--"+f.Name)
	}
	return strings.Join(names, " ")
}
