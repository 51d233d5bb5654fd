package llama

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

	Texts      int64 // embedded
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
