package form

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/assay-eval/assay/metrics"
	"github.com/assay-eval/assay/tokenize"
)

// refusalPhrases finds refusals and noncommittal answers. It is a list of phrases: fast, deterministic, and blind
// to a refusal in other words. Refusing is right where the contexts hold no answer, so that a low value is better
// only where they do.
func refusalPhrases() metrics.Metric {
	return metrics.Metric{
		Name:          "refusal/phrases",
		Doc:           "1 if a sentence of the answer declines to answer, by phrases in fourteen languages, else 0",
		Source:        "promptfoo, is-refusal, and Ragas, noncommittal: with phrases of our own",
		Formula:       "1 if any sentence of the answer holds a phrase of refusal or of not knowing, else 0",
		Calls:         "none",
		Default:       true,
		Max:           1,
		LowerIsBetter: true,
		Needs:         metrics.Answer,
		Score: func(_ context.Context, _ metrics.Models, s *metrics.Sample) (metrics.Score, error) {
			var score metrics.Score
			for i, sentence := range tokenize.Sentences(s.Answer) {
				if phrase := refusalIn(sentence.Text); phrase != "" {
					yes := true
					score.Value = 1
					score.Because = append(score.Because, metrics.Finding{Kind: "sentence", Text: sentence.Text,
						Verdict: &yes,
						Reason:  fmt.Sprintf("it says %q", phrase), Where: fmt.Sprintf("sentence %d", i+1)})
				}
			}
			if score.Because == nil {
				score.Because = []metrics.Finding{{Kind: "note", Text: "no sentence declines to answer"}}
			}
			return score, nil
		},
	}
}

// refusalIn returns the phrase of refusal that a sentence holds, "" if none.
func refusalIn(sentence string) string {
	normal := tokenize.Normalize(sentence)
	for _, p := range refusals() {
		if p.spaced && tokenize.ContainsWords(normal, p.normal) || !p.spaced && strings.Contains(normal, p.normal) {
			return p.text
		}
	}
	return ""
}

type refusalPhrase struct {
	text, normal string
	spaced       bool // its script puts spaces between words
}

var refusals = sync.OnceValue(func() []refusalPhrase {
	var list []refusalPhrase
	for line := range strings.Lines(refusalText()) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		unspaced := strings.ContainsFunc(line, func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
		})
		list = append(list, refusalPhrase{line, tokenize.Normalize(line), !unspaced})
	}
	return list
})

// refusalText lists phrases, one a line: all in the first person, or about what was provided, so that
// sentences about somebody else's not knowing do not count.
func refusalText() string {
	return `
		I don't know
		I do not know
		I'm not sure
		I am not sure
		I have no information
		I don't have any information
		I don't have information
		I do not have information
		I don't have enough information
		I do not have enough information
		I don't have access
		I do not have access
		I can't answer
		I cannot answer
		I'm unable to
		I am unable to
		I'm not able to
		I am not able to
		I can't help
		I cannot help
		I can't assist
		I cannot assist
		I can't provide
		I cannot provide
		I could not find
		I couldn't find
		I must decline
		I won't be able to
		not enough information
		insufficient information
		cannot be determined from
		can't be determined from
		the context does not mention
		the context doesn't mention
		the context does not provide
		the context doesn't provide
		the context does not contain
		the context doesn't contain
		the provided context does not
		the provided context doesn't
		the text does not say
		the text doesn't say
		as an AI language model
		as an AI assistant
		Ich weiß nicht
		Ich weiß es nicht
		Das weiß ich nicht
		Ich kann nicht antworten
		kann ich nicht beantworten
		Ich kann dir nicht helfen
		Ich kann Ihnen nicht helfen
		kann ich leider nicht
		Ich habe keine Informationen
		keine ausreichenden Informationen
		geht aus dem Text nicht hervor
		geht aus dem Kontext nicht hervor
		Je ne sais pas
		Je ne peux pas répondre
		Je ne peux pas vous aider
		Je suis incapable de
		Je n'ai pas d'information
		Je n'ai pas d'informations
		Je ne dispose pas
		pas assez d'informations
		Le contexte ne mentionne pas
		No lo sé
		No sé
		No puedo responder
		No puedo ayudarte
		No puedo ayudarle
		No tengo información
		No tengo suficiente información
		no hay suficiente información
		El contexto no menciona
		Non lo so
		Non posso rispondere
		Non posso aiutarti
		Non ho informazioni
		informazioni insufficienti
		Não sei
		Não posso responder
		Não posso ajudar
		Não tenho informações
		informações insuficientes
		Ik weet het niet
		Ik kan niet antwoorden
		kan ik niet beantwoorden
		Ik heb geen informatie
		onvoldoende informatie
		Jag vet inte
		Jag kan inte svara
		Jag har ingen information
		Jeg ved det ikke
		Jeg ved ikke
		Jeg vet ikke
		Jeg kan ikke svare
		Nie wiem
		Nie mogę odpowiedzieć
		Nie mam informacji
		Я не знаю
		Я не могу ответить
		Я не могу помочь
		У меня нет информации
		недостаточно информации
		我不知道
		我不清楚
		我无法回答
		我無法回答
		我无法提供
		無法提供
		没有足够的信息
		沒有足夠的資訊
		分かりません
		わかりません
		お答えできません
		情報がありません
	`
}
