package llama

import "sync/atomic"

// Stats counts what an engine has done since it was opened.
type Stats struct {
	Requests       int64 // to generate, that were begun
	PromptTokens   int64 // in the prompts of those
	PromptComputed int64 // of them that were computed; the rest were shared
	OutputTokens   int64 // generated

	Steps         int64 // passes that lengthened replies
	StepSequences int64 // replies lengthened, over all steps
	StepWork      int64 // replies that could have been, had all prompts been ready: at most the slots
	Fillers       int64 // tokens computed only to keep others company

	Texts      int64 // embedded, and pairs judged
	TextTokens int64 // in those
}

// Packing is the share of sequences with work to do that a step lengthens, on average: 1 is perfect,
// and 0 means that there were no steps.
func (s Stats) Packing() float64 {
	if s.StepWork == 0 {
		return 0
	}
	return float64(s.StepSequences) / float64(s.StepWork)
}

// counters are the Stats as they are counted: by the engine's owner, always before the caller whose work
// is counted gets its answer.
type counters struct {
	requests, promptTokens, promptComputed, outputTokens atomic.Int64
	steps, stepSequences, stepWork, fillers              atomic.Int64
	texts, textTokens                                    atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		Requests:       c.requests.Load(),
		PromptTokens:   c.promptTokens.Load(),
		PromptComputed: c.promptComputed.Load(),
		OutputTokens:   c.outputTokens.Load(),
		Steps:          c.steps.Load(),
		StepSequences:  c.stepSequences.Load(),
		StepWork:       c.stepWork.Load(),
		Fillers:        c.fillers.Load(),
		Texts:          c.texts.Load(),
		TextTokens:     c.textTokens.Load(),
	}
}
