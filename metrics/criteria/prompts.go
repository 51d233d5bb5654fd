package criteria

import (
	"maps"

	"github.com/assay-eval/assay/metrics/prompts"
)

// The prompts of this family, each with an example of what it is rendered with.
var (
	criteriaQuestionPrompt = prompts.Builtin("criteria_question",
		prompts.Example{Data: criterionQuestion{exampleTexts, "<ask>"},
			Shown: showing(map[string]string{".Question": "<ask>"})})
	criteriaScorePrompt = prompts.Builtin("criteria_score", prompts.Example{Data: criterionScore{exampleTexts,
		"<criterion>", []string{"<step>"}, 3, 7},
		Shown: showing(map[string]string{".Criterion": "<criterion>", ".Steps": "<step>", ".Lowest": "3",
			".Highest": "7"})})
	criteriaRubricPrompt = prompts.Builtin("criteria_rubric",
		prompts.Example{Data: criterionRubric{exampleTexts, []rubricLevel{{3, "<low>"}, {7, "<high>"}}},
			Shown: showing(map[string]string{".Levels": "<low>", "every one of .Levels": "<high>",
				"their numbers": "7"})})
	criteriaStepsPrompt = prompts.Builtin("criteria_steps", prompts.Example{Data: criterionSteps{"<criterion>"},
		Shown: map[string]string{".Criterion": "<criterion>"}})
)

var exampleTexts = []shownText{{"<first name>", "<first>"}, {"<second name>", "<second>"}}

// showing adds what the last message must show of exampleTexts.
func showing(shown map[string]string) map[string]string {
	maps.Copy(shown, map[string]string{".Texts": "<first>", "every one of .Texts": "<second>",
		"the names of .Texts": "<second name>"})
	return shown
}
