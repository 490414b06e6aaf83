package queries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// Queries are what the alert's texts ask Prometheus for, each with the labels that
// the text takes from the answer. Where a query has a label of the result in it, the
// given value stands for that, else the label's name.
func (r Rule) Queries(values map[string]string) ([]Query, error) {
	var all []Query
	for _, name := range slices.Sorted(maps.Keys(r.Annotations)) {
		t := textQueries{values: values, found: Query{File: r.File, Panel: r.Name() + " " + name}}
		if err := t.read(r.Annotations[name]); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", r, name, err)
		}
		all = append(all, t.all...)
	}
	return all, nil
}

// textQueries looks for queries in the template of one text.
type textQueries struct {
	values map[string]string
	found  Query // without its expression
	all    []Query
	errs   []error
}

func (t *textQueries) read(text string) error {
	tree := parse.New("text")
	tree.Mode = parse.SkipFuncCheck
	// The variables that Prometheus declares.
	const variables = `{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}`
	if _, err := tree.Parse(variables+text, "", "", map[string]*parse.Tree{}); err != nil {
		return fmt.Errorf("no template: %w", err)
	}
	t.walk(tree.Root)
	if len(t.errs) > 0 {
		return t.errs[0]
	}
	return nil
}

func (t *textQueries) walk(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil { // no else
			return
		}
		for _, n := range n.Nodes {
			t.walk(n)
		}
	case *parse.ActionNode:
		t.pipe(n.Pipe, nil)
	case *parse.WithNode:
		t.branch(&n.BranchNode)
	case *parse.RangeNode:
		t.branch(&n.BranchNode)
	case *parse.IfNode:
		t.branch(&n.BranchNode)
	}
}

func (t *textQueries) branch(n *parse.BranchNode) {
	t.pipe(n.Pipe, n.List)
	t.walk(n.List)
	t.walk(n.ElseList)
}

// pipe notes the query of a pipe, whose answer the body is about.
func (t *textQueries) pipe(p *parse.PipeNode, body *parse.ListNode) {
	for i, c := range p.Cmds {
		for _, arg := range c.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				t.pipe(inner, body)
			}
		}
		if function(c) != "query" {
			continue
		}
		asked := c.Args[1:]
		if len(asked) == 0 && i > 0 {
			asked = p.Cmds[i-1].Args
		}
		q := t.found
		q.Labels = append(labelsTaken(body), labelsTaken(p)...)
		var err error
		if q.Expr, err = t.text(asked); err != nil {
			t.errs = append(t.errs, fmt.Errorf("%s: %w", p, err))
		}
		t.all = append(t.all, q)
	}
}

// text is what a string, or printf of a string and labels, makes.
func (t *textQueries) text(args []parse.Node) (string, error) {
	if len(args) == 1 {
		if s, ok := args[0].(*parse.StringNode); ok {
			return s.Text, nil
		}
		if p, ok := args[0].(*parse.PipeNode); ok && len(p.Cmds) == 1 {
			return t.text(p.Cmds[0].Args)
		}
	}
	if len(args) < 2 || args[0].String() != "printf" || args[1].Type() != parse.NodeString {
		return "", fmt.Errorf("its text is neither a string nor printf of one: %v", args)
	}
	var fill []any
	for _, arg := range args[2:] {
		v, ok := arg.(*parse.VariableNode)
		if !ok || len(v.Ident) != 2 || v.Ident[0] != "$labels" {
			return "", fmt.Errorf("%s is no label of the result", arg)
		}
		value, ok := t.values[v.Ident[1]]
		if !ok {
			value = v.Ident[1]
		}
		fill = append(fill, value)
	}
	text := fmt.Sprintf(args[1].(*parse.StringNode).Text, fill...)
	if strings.Contains(text, "%!") {
		return "", fmt.Errorf("printf says %s", text)
	}
	return text, nil
}

// labelsTaken are those that a part of a template takes from the sample at hand.
func labelsTaken(n parse.Node) []string {
	var all []string
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		for _, n := range n.Nodes {
			all = append(all, labelsTaken(n)...)
		}
	case *parse.ActionNode:
		return labelsTaken(n.Pipe)
	case *parse.WithNode:
		return labelsTaken(n.List)
	case *parse.RangeNode:
		return labelsTaken(n.List)
	case *parse.IfNode:
		return append(labelsTaken(n.Pipe), append(labelsTaken(n.List), labelsTaken(n.ElseList)...)...)
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if function(c) == "label" && len(c.Args) > 1 {
				if s, ok := c.Args[1].(*parse.StringNode); ok {
					all = append(all, s.Text)
				}
			}
		}
	}
	return all
}

// function is what a command calls, "" where it calls nothing.
func function(c *parse.CommandNode) string {
	if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return f.Ident
	}
	return ""
}
