// Assay scores RAG and LLM outputs with models that run on this machine.
//
//	assay run --data qa.jsonl --metrics faithfulness,answer_relevance -o results
//
// See assay --help and the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Assay scores RAG and LLM outputs with models that run on this machine.

Usage: assay COMMAND [flags]

Score
  run        score a dataset: answers with their evidence go to a run folder
  merge      put the shards of a run, scored on several machines, together
  worker     score rows of a run that another machine shares (assay run --queue)
  report     summarise a run: means with intervals, failures, thresholds
  view       look at runs in the browser: search, evidence, two runs side by side, labels
  show       show one row, or one model answer, behind a score

Judge
  compare    two or more runs on the same rows: is the difference real?
  agree      how far metrics agree with people's labels
  ppi        what people would say on average, from a few labels and all scores
  components which part of a RAG fails, by the types of questions
  calibrate  make probabilities of scores, from labels
  judge      train a judge from labels and the scores of cheap metrics, and test it
  qrels      relevance judgements of passages by a judge, and how far people agree with them
  label      label the rows that tell most, one at a time

Make
  answer     answer questions from documents: a plain RAG to score
  testset    make questions, with good and bad answers, out of documents
  mock       make systems of known accuracy out of labelled rows

Offer
  serve      models to other programs on this machine, by OpenAI's routes
  mcp        tools to an assistant: run, show, compare, label

Look
  init       assay.yaml for a dataset: the flags that this folder's commands have
  data       what a dataset holds, and which metrics can run on it
  metrics    list the metrics, or explain one
  models     list, inspect, import, verify and tune models and engines
  cache      size and contents of the answer cache; prune, export, import
  bench      measure how fast this machine evaluates, beside llama.cpp and Ollama
  doctor     check this machine: libraries, models, memory, Ollama, cache
  completion for bash, zsh and fish; man pages

Start here:
  assay doctor
  assay run --data examples/qa.jsonl --metrics faithfulness -o results

Each command explains itself: assay COMMAND --help.
Exit status: 0 ok, 1 failed, 2 wrong usage or input, 3 a threshold or failure limit was crossed,
130 interrupted.
`

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs one command and returns its exit status.
func Main(args []string) int {
	std := standard()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once: nothing finished is lost
	return std.exit(ctx, command(ctx, std, args))
}

func command(ctx context.Context, std *std, args []string) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	args, err := withProject(ctx, std, name, args)
	if err != nil {
		return err
	}
	switch name {
	case "init":
		return initCommand(ctx, std, args)
	case "run":
		return runCommand(ctx, std, args)
	case "merge":
		return mergeCommand(ctx, std, args)
	case "worker":
		return workerCommand(ctx, std, args)
	case "data":
		return dataCommand(ctx, std, args)
	case "answer":
		return answerCommand(ctx, std, args)
	case "testset":
		return testsetCommand(ctx, std, args)
	case "mock":
		return mockCommand(ctx, std, args)
	case "report":
		return reportCommand(ctx, std, args)
	case "view":
		return viewCommand(ctx, std, args)
	case "show":
		return showCommand(ctx, std, args)
	case "compare":
		return compareCommand(ctx, std, args)
	case "agree":
		return agreeCommand(ctx, std, args)
	case "qrels":
		return qrelsCommand(ctx, std, args)
	case "ppi":
		return ppiCommand(ctx, std, args)
	case "components":
		return componentsCommand(ctx, std, args)
	case "calibrate":
		return calibrateCommand(ctx, std, args)
	case "judge":
		return judgeCommand(ctx, std, args)
	case "label":
		return labelCommand(ctx, std, args)
	case "serve":
		return serveCommand(ctx, std, args)
	case "mcp":
		return mcpCommand(ctx, std, args)
	case "metrics":
		return metricsCommand(ctx, std, args)
	case "models":
		return modelsCommand(ctx, std, args)
	case "cache":
		return cacheCommand(ctx, std, args)
	case "bench":
		return benchCommand(ctx, std, args)
	case "doctor":
		return doctorCommand(ctx, std, args)
	case "completion":
		return completionCommand(ctx, std, args)
	case "version", "--version":
		fmt.Fprintln(std.out, "assay", buildVersion())
		return nil
	case "help", "-h", "--help":
		if len(args) > 0 {
			return command(ctx, std, []string{args[0], "--help"})
		}
		fmt.Fprint(std.out, usage)
		return nil
	case "":
		fmt.Fprint(std.err, usage)
		return usageError{errors.New("which command?")}
	}
	return usagef("unknown command %q: assay --help lists them", name)
}
