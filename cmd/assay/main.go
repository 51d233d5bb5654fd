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
		fmt.Fprint(std.out, usage())
		return nil
	case "":
		fmt.Fprint(std.err, usage())
		return usageError{errors.New("which command?")}
	}
	return usagef("unknown command %q: assay --help lists them", name)
}
