package assaytest_test

import (
	"testing"

	"github.com/assay-eval/assay/backend"
	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/metrics/assaytest"
)

// A test of one answer, by the encoder judge that is installed.
func ExampleScore() {
	_ = func(t *testing.T) { // TestHours in a file of yours
		passages := []string{"The museum is open from ten to six, and closed on Mondays."}
		answer := "It is open from ten to six every day but Monday." // of the system that is tested
		sample := &metrics.Sample{Question: "When is the museum open?", Contexts: passages, Answer: answer}
		assaytest.Score(t, sample, "faithfulness/encoder", 0.8)
	}
}

// Models that stay open for all tests of a package, and a limit on the mean over several samples.
func ExampleJudge() {
	judge := assaytest.Judge{Models: map[backend.Role]string{backend.Judge: "tinyllama-q4_0"}} // a variable of the package
	_ = func(m *testing.M) {                                                                   // TestMain
		m.Run()
		judge.Close()
	}
	_ = func(t *testing.T) { // TestAnswers
		var samples []*metrics.Sample // what the system made of some questions
		sum := judge.Mean(t, samples, "faithfulness/logit", 0.7)
		t.Logf("%d answers, %.2f faithful", sum.N, sum.Mean)
	}
}
