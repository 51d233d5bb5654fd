package criteria

import (
	"context"
	"fmt"
	"strings"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/prompts"
	"go.yaml.in/yaml/v4"
)

// A decisionGraph is a directed acyclic graph of yes/no questions, each of whose answers leads to another
// question or to a score. Every question can be reached from the first, its root.
type decisionGraph struct{ nodes []graphNode }

type graphNode struct {
	name, question string
	yes, no        graphOutcome
}

// A graphOutcome is what an answer leads to.
type graphOutcome struct {
	node  int // -1: the score
	score float64
}

// graph reads a graph: a mapping from the names of its questions to {question, yes, no}.
func (c *criteriaFile) graph(n *yaml.Node) (decisionGraph, error) {
	entries, err := c.mapping(n, "a graph")
	if err != nil {
		return decisionGraph{}, err
	}
	if len(entries) == 0 || len(entries) > maxNodes {
		return decisionGraph{}, c.fail(n, "a graph of %d questions: want 1 to %d", len(entries), maxNodes)
	}
	index := make(map[string]int)
	for i, e := range entries {
		if _, err := c.number(e.at); err == nil {
			return decisionGraph{}, c.fail(e.at, "a question's name cannot be a number: %s", e.key)
		}
		index[e.key] = i
	}
	var g decisionGraph
	for _, e := range entries {
		node, err := c.graphNode(e, index)
		if err != nil {
			return decisionGraph{}, err
		}
		g.nodes = append(g.nodes, node)
	}
	if cycle := g.cycle(); cycle != nil {
		return decisionGraph{}, c.fail(n, "the questions go round in a circle: %s", strings.Join(cycle, " -> "))
	}
	reached := make([]bool, len(g.nodes))
	g.reach(0, reached)
	for i, e := range entries {
		if !reached[i] {
			return decisionGraph{}, c.fail(e.at, "no answer leads to the question %s, and the graph begins with %s",
				e.key, entries[0].key)
		}
	}
	if lo, hi := g.span(); lo == hi {
		return decisionGraph{}, c.fail(n, "every path ends in the score %v: there is nothing to decide", lo)
	}
	return g, nil
}

func (c *criteriaFile) graphNode(e criterionEntry, index map[string]int) (graphNode, error) {
	node := graphNode{name: e.key}
	parts, err := c.mapping(e.node, "the question "+e.key)
	if err != nil {
		return node, err
	}
	seen := make(map[string]bool)
	for _, part := range parts {
		seen[part.key] = true
		switch part.key {
		case "question":
			node.question, err = c.text(part.node)
		case "yes":
			node.yes, err = c.outcome(part, index)
		case "no":
			node.no, err = c.outcome(part, index)
		default:
			err = c.unknown(part, "", []string{"question", "yes", "no"})
		}
		if err != nil {
			return node, err
		}
	}
	for _, key := range []string{"question", "yes", "no"} {
		if !seen[key] {
			return node, c.fail(e.at, "the question %s has no %q: want question, yes and no, the two either a score "+
				"or another question's name", e.key, key)
		}
	}
	return node, nil
}

func (c *criteriaFile) outcome(part criterionEntry, index map[string]int) (graphOutcome, error) {
	if score, err := c.number(part.node); err == nil {
		return graphOutcome{-1, score}, nil
	}
	name, err := c.text(part.node)
	if err != nil {
		return graphOutcome{}, c.fail(part.node, "%s leads nowhere: want a score or another question's name", part.key)
	}
	i, ok := index[name]
	if !ok {
		return graphOutcome{}, c.fail(part.node, "%s leads to %q, which is neither a score nor a question of the graph",
			part.key, metrics.Bounded(name))
	}
	return graphOutcome{node: i}, nil
}

// cycle returns the names along a cycle, nil if there is none.
func (g decisionGraph) cycle() []string {
	const open, done = 1, 2
	state := make([]int, len(g.nodes))
	var path []int
	var visit func(i int) []string
	visit = func(i int) []string {
		switch state[i] {
		case done:
			return nil
		case open:
			var names []string
			for _, j := range path {
				if j == i || names != nil {
					names = append(names, g.nodes[j].name)
				}
			}
			return append(names, g.nodes[i].name)
		}
		state[i] = open
		path = append(path, i)
		for _, next := range []graphOutcome{g.nodes[i].yes, g.nodes[i].no} {
			if next.node >= 0 {
				if names := visit(next.node); names != nil {
					return names
				}
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return nil
	}
	for i := range g.nodes {
		if names := visit(i); names != nil {
			return names
		}
	}
	return nil
}

// reach marks the questions that can be reached from question i.
func (g decisionGraph) reach(i int, reached []bool) {
	if reached[i] {
		return
	}
	reached[i] = true
	for _, next := range []graphOutcome{g.nodes[i].yes, g.nodes[i].no} {
		if next.node >= 0 {
			g.reach(next.node, reached)
		}
	}
}

// span returns the lowest and the highest score. There is at least one where there is no cycle.
func (g decisionGraph) span() (lo, hi float64) {
	first := true
	for _, node := range g.nodes {
		for _, end := range []graphOutcome{node.yes, node.no} {
			switch {
			case end.node >= 0:
			case first:
				lo, hi, first = end.score, end.score, false
			default:
				lo, hi = min(lo, end.score), max(hi, end.score)
			}
		}
	}
	return lo, hi
}

// graphMetric follows the more probable answer from question to question, to a score.
func graphMetric(f frame, g decisionGraph) metrics.Metric {
	f.lo, f.hi = g.span()
	m := f.metric()
	m.Formula = "the score at the end of the path of the more probable answers"
	m.Calls = fmt.Sprintf("1 first-token scoring, or 1 reply where the judge tells no probabilities, for each "+
		"question on the path, of %d", len(g.nodes))
	m.Asks = metrics.Asks{backend.Judge: backend.CanGenerate}
	m.Prompts = []*prompts.Prompt{criteriaQuestionPrompt}
	m.Score = func(ctx context.Context, m metrics.Models, s *metrics.Sample) (metrics.Score, error) {
		texts, err := judgedTexts(s, f.show)
		if err != nil {
			return metrics.Score{}, err
		}
		var score metrics.Score
		for next := (graphOutcome{}); ; {
			node := g.nodes[next.node]
			p, finding, err := askYes(ctx, m, texts, node.question)
			if err != nil {
				return metrics.Score{}, fmt.Errorf("question %s: %w", node.name, err)
			}
			finding.Where = "question " + node.name
			score.Because = append(score.Because, finding)
			if next = node.no; p >= 0.5 {
				next = node.yes
			}
			if next.node < 0 {
				score.Value = next.score
				return score, nil
			}
		}
	}
	return m
}
