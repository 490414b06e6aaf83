package main

import (
	"slices"
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
{{if IsGrouped $command -}}
{{$flags := .Context.Flags -}}
{{range Groups $command -}}
{{.Title}}:
{{.Flags $flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{else -}}
Flags:
{{.Context.Flags|FlagsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{with .Context.Args -}}
Args:
{{.|ArgsToTwoColumns|FormatTwoColumns}}
{{end -}}
{{if IsRun $command}}{{Examples}}{{end -}}
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

// flagSet is what flags are added to: a command, or a group of its flags.
type flagSet interface {
	Flag(name, help string) *kingpin.FlagClause
}

// flagGroup is a title of help with the flags of a command that stand under it.
type flagGroup struct {
	Title   string
	command *kingpin.CmdClause
	names   []string
}

// Flag adds a flag to the command and to the group. Its help ends with the names that
// it has in other tools, whose command lines are run's.
func (g *flagGroup) Flag(name, help string) *kingpin.FlagClause {
	g.names = append(g.names, name)
	if g.command.Model().Name == runCommand {
		help += otherNames(name)
	}
	return g.command.Flag(name, help)
}

// Flags are those of all that are in the group.
func (g *flagGroup) Flags(all []*kingpin.FlagModel) []*kingpin.FlagModel {
	var flags []*kingpin.FlagModel
	for _, f := range all {
		if slices.Contains(g.names, f.Name) && !f.Hidden {
			flags = append(flags, f)
		}
	}
	return flags
}

// setHelp has help show the flags of commands in their groups.
func setHelp(app *kingpin.Application, groups map[string][]*flagGroup) {
	app.UsageTemplate(helpTemplate)
	app.UsageFuncs(map[string]any{
		"Examples":  func() string { return examples },
		"IsRun":     func(command *kingpin.CmdModel) bool { return command.Name == runCommand },
		"IsGrouped": func(command *kingpin.CmdModel) bool { return groups[command.Name] != nil },
		"Groups": func(command *kingpin.CmdModel) []*flagGroup {
			return append(slices.Clone(groups[command.Name]), &flagGroup{Title: "Other", names: []string{"help", "version"}})
		},
		"CommandRows": func(app *kingpin.ApplicationModel) [][2]string {
			var rows [][2]string
			for _, c := range app.Commands {
				rows = append(rows, [2]string{c.Name, c.Help})
			}
			return rows
		},
		"FlagRows": func(app *kingpin.ApplicationModel) [][2]string {
			var rows [][2]string
			for _, g := range groups[runCommand] {
				rows = append(rows, [2]string{g.Title, strings.Join(flagNames(g.Flags(commandNamed(app, runCommand).Flags)), " ")})
			}
			return rows
		},
	})
}
